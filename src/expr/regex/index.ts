import { UNLIMITED, type Budget } from '../language/budget.js'
import { Captures } from './captures.js'
import { LazyDfa } from './dfa.js'
import { RegexSyntaxError } from './syntax-error.js'
import { linearSource, type LinearSource } from './linear.js'
import { requiredTexts } from './literals.js'
import { parse, type ParsedRegex } from './parse.js'
import { checkSize, compileProgram } from './program.js'
import { unicodeLooks } from './look.js'
import { Simulation } from './simulate.js'
import type { Bytes } from '../language/value.js'

/**
 * A regular expression in the syntax of the Rust crate `regex`, for byte strings. For any pattern and text, a search
 * takes time linear in the text.
 */
export interface Regex {
  readonly pattern: Bytes
  /**
   * `backtracking` is JavaScript's own engine, used if it is certain to be linear. `simulation` is for text that is not
   * ASCII.
   */
  readonly engine: 'backtracking' | 'automaton' | 'simulation'
  /** Number of capture groups. */
  readonly groups: number
  /**
   * Texts (ASCII letters in lower case). Every match contains one, in any case. Undefined if none are known.
   */
  readonly required: readonly string[] | undefined
  /** Builds the engine, which is slow. Otherwise the first search builds it. */
  build(): void
  /** Returns whether the pattern is found anywhere in `text`. Throws if the budget is used up. */
  test(text: Bytes, budget?: Budget): boolean
  /**
   * Returns the leftmost match. Group n has its offsets at 2n and 2n+1, which are -1 if the group did not take part.
   */
  exec(text: Bytes, budget?: Budget): number[] | undefined
}

/** Parses and compiles a pattern (a byte string of UTF-8). Throws RegexSyntaxError. */
export function parseRegex(pattern: Bytes): Regex {
  const parsed = parse(utf8Of(pattern))
  checkSize(parsed.hir)
  const source = linearSource(parsed.hir)
  const own = ownEngine(pattern, parsed)
  return source === undefined ? own : backtracking(own, source)
}

/**
 * Maximum number of backtracking steps for one text. Beyond it the automaton is used, which takes one step per byte.
 */
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

const utf8Of = (pattern: Bytes): string => Buffer.from(pattern, 'latin1').toString('utf8')

/**
 * Our own engines. They are built late, because many rules are checked but never run. The pattern is parsed again for
 * that, because a parsed expression stays in memory and Unicode classes are large.
 */
function ownEngine(pattern: Bytes, { hir, groups }: ParsedRegex): Regex {
  let automaton: LazyDfa | undefined
  let simulation: Simulation | undefined
  let capturing: Captures | undefined
  const make = (): LazyDfa => {
    const program = compileProgram(parse(utf8Of(pattern)).hir, false)
    // Few texts need the simulation.
    return new LazyDfa(program, () => (simulation ??= new Simulation(program)))
  }
  // The automaton knows one byte on each side of a position, which is only enough for word edges in ASCII.
  const ascii = unicodeLooks(hir)
  return {
    pattern,
    engine: ascii ? 'simulation' : 'automaton',
    groups: groups.length,
    required: requiredTexts(hir),
    build() {
      automaton ??= make()
    },
    test(text, budget = UNLIMITED) {
      automaton ??= make()
      return ascii && NOT_ASCII.test(text) ? automaton.fallback.test(text, budget) : automaton.test(text, budget)
    },
    exec(text, budget = UNLIMITED) {
      capturing ??= new Captures(compileProgram(parse(utf8Of(pattern)).hir, true), groups.length)
      return capturing.exec(text, budget)
    },
  }
}

const NOT_ASCII = /[\x80-\xff]/

export { RegexSyntaxError }
