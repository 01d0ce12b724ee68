import { Captures } from './captures.js'
import { LazyDfa } from './dfa.js'
import { RegexSyntaxError } from './fault.js'
import { linearSource } from './linear.js'
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
  /** Whether the pattern is found anywhere in `text`. */
  test(text: Bytes): boolean
  /** The leftmost match: for group n its offsets at 2n and 2n+1, -1 for a group that took no part. */
  exec(text: Bytes): number[] | undefined
}

/** Parses and compiles a pattern (a byte string of UTF-8). Throws RegexFault. */
export function parseRegex(pattern: Bytes): Regex {
  const text = Buffer.from(pattern, 'latin1').toString('utf8')
  const parsed = parse(text)
  checkSize(parsed.hir)
  const source = linearSource(parsed.hir)
  return source === undefined ? ownEngine(pattern, parsed) : backtracking(pattern, parsed, source)
}

const shared = (pattern: Bytes, { hir, groups }: ParsedRegex) => {
  let capturing: Captures | undefined
  return {
    pattern,
    groups: groups.length,
    required: requiredTexts(hir),
    exec: (text: Bytes) => {
      capturing ??= new Captures(compileProgram(hir, true), groups.length)
      return capturing.exec(text)
    },
  }
}

function backtracking(pattern: Bytes, parsed: ParsedRegex, source: string): Regex {
  const regexp = new RegExp(source)
  return { ...shared(pattern, parsed), engine: 'backtracking', test: (text) => regexp.test(text) }
}

/** Our own engines are built when first asked: many rules are loaded that never are. */
function ownEngine(pattern: Bytes, parsed: ParsedRegex): Regex {
  let engines: { automaton: LazyDfa; simulation: Simulation } | undefined
  const make = () => {
    const program = compileProgram(parsed.hir, false)
    const simulation = new Simulation(program)
    return { automaton: new LazyDfa(program, simulation), simulation }
  }
  // The automaton knows one byte on each side of a place: enough for word edges in ASCII, and then only.
  const ascii = unicodeLooks(parsed.hir)
  const test = (text: Bytes) => {
    engines ??= make()
    return ascii && NOT_ASCII.test(text) ? engines.simulation.test(text) : engines.automaton.test(text)
  }
  return { ...shared(pattern, parsed), engine: ascii ? 'simulation' : 'automaton', test }
}

const NOT_ASCII = /[\x80-\xff]/

export { RegexSyntaxError }
