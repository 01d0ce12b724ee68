import { UNLIMITED, type Budget } from '../budget.js'
import { Captures } from './captures.js'
import { LazyDfa } from './dfa.js'
import { RegexSyntaxError } from './fault.js'
import { linearSource, type LinearSource } from './linear.js'
import { requiredTexts } from './literals.js'
import { parse, type ParsedRegex } from './parse.js'
import { checkSize, compileProgram } from './program.js'
import { unicodeLooks } from './look.js'
import { Simulation } from './simulate.js'
import type { Bytes } from '../value.js'

/**
 * A regular expression in the syntax of the Rust crate `regex`, searched for in byte strings. Whatever the pattern and
 * the text, a search takes time linear in the text.
 */
export interface Regex {
  readonly pattern: Bytes
  /** `backtracking`: JavaScript's own engine, where that is certain to be linear; `simulation`: where text is not ASCII. */
  readonly engine: 'backtracking' | 'automaton' | 'simulation'
  /** How many capture groups there are. */
  readonly groups: number
  /** Texts (ASCII letters in lower case) of which every match holds one, whatever its case; undefined: none known. */
  readonly required: readonly string[] | undefined
  /** Builds the engine, which takes long; otherwise the first search does. */
  build(): void
  /** Returns whether the pattern is found anywhere in `text`. Throws if the budget is used up. */
  test(text: Bytes, budget?: Budget): boolean
  /** The leftmost match: for group n its offsets at 2n and 2n+1, -1 for a group that took no part. */
  exec(text: Bytes, budget?: Budget): number[] | undefined
}

/** Parses and compiles a pattern (a byte string of UTF-8). Throws RegexFault. */
export function parseRegex(pattern: Bytes): Regex {
  const text = Buffer.from(pattern, 'latin1').toString('utf8')
  const parsed = parse(text)
  checkSize(parsed.hir)
  const source = linearSource(parsed.hir)
  const own = ownEngine(pattern, parsed)
  return source === undefined ? own : backtracking(own, source)
}

/** Beyond this many steps of backtracking for one text, the automaton is asked: it takes one step for each byte. */
const MAX_BACKTRACKED = 65_536

function backtracking(own: Regex, { source, perText, perByte }: LinearSource): Regex {
  const regexp = new RegExp(source)
  return {
    ...own,
    engine: 'backtracking',
    build() {
      // The second call makes the engine translate the pattern to machine code.
      regexp.test('')
      regexp.test('')
    },
    test(text, budget = UNLIMITED) {
      const steps = perText + perByte * text.length
      if (steps > MAX_BACKTRACKED) return own.test(text, budget)
      budget.spend(1 + (steps >> 1))
      return regexp.test(text)
    },
  }
}

/** Our own engines. They are built late: many rules are checked that are never run. */
function ownEngine(pattern: Bytes, { hir, groups }: ParsedRegex): Regex {
  let engines: { automaton: LazyDfa; simulation: Simulation } | undefined
  let capturing: Captures | undefined
  const make = () => {
    const program = compileProgram(hir, false)
    const simulation = new Simulation(program)
    return { automaton: new LazyDfa(program, simulation), simulation }
  }
  // The automaton knows one byte on each side of a place: enough for word edges in ASCII, and then only.
  const ascii = unicodeLooks(hir)
  return {
    pattern,
    engine: ascii ? 'simulation' : 'automaton',
    groups: groups.length,
    required: requiredTexts(hir),
    build() {
      engines ??= make()
    },
    test(text, budget = UNLIMITED) {
      engines ??= make()
      return ascii && NOT_ASCII.test(text)
        ? engines.simulation.test(text, budget)
        : engines.automaton.test(text, budget)
    },
    exec(text, budget = UNLIMITED) {
      capturing ??= new Captures(compileProgram(hir, true), groups.length)
      return capturing.exec(text, budget)
    },
  }
}

const NOT_ASCII = /[\x80-\xff]/

export { RegexSyntaxError }
