import { UNLIMITED, type Budget } from '../language/budget.js'
import type { Bytes } from '../language/value.js'
import { Backtracker } from './backtrack.js'
import { Captures } from './captures.js'
import { linearCaptures, type LinearSource } from './linear.js'
import { parse } from './parse.js'
import { checkSize, compileProgram } from './program.js'
import { RegexSyntaxError } from './syntax-error.js'

/** A search that may take more steps with JavaScript's engine is left to our own, which counts them. */
const MAX_STEPS = 4_000_000

/**
 * Reads the named groups of texts, for a pattern in the syntax of the Rust crate `regex`. For any pattern and text, a
 * search takes time linear in the text.
 */
export class NamedGroups {
  /** Names in the order of the pattern. */
  readonly names: readonly string[]
  /** Numbers of these groups, from 1. */
  readonly #numbers: readonly number[]
  readonly #captures: Captures
  readonly #backtracker: Backtracker
  readonly #linear: (LinearSource & { readonly regexp: RegExp }) | undefined

  /** Parses a pattern (a byte string of UTF-8). Throws RegexSyntaxError. */
  constructor(pattern: Bytes) {
    const { hir, groups } = parse(Buffer.from(pattern, 'latin1').toString())
    checkSize(hir)
    const named = groups.flatMap((name, index) => (name === undefined ? [] : [{ name, number: index + 1 }]))
    this.names = named.map(({ name }) => name)
    this.#numbers = named.map(({ number }) => number)
    const program = compileProgram(hir, true)
    this.#captures = new Captures(program, groups.length)
    this.#backtracker = new Backtracker(program, groups.length)
    const linear = linearCaptures(hir)
    this.#linear = linear && { ...linear, regexp: new RegExp(linear.source) }
  }

  /**
   * Returns the text of each named group in the leftmost match, undefined for a group that did not take part. Returns
   * undefined if nothing matches. Throws if the budget is used up.
   */
  read(text: Bytes, budget: Budget = UNLIMITED): (string | undefined)[] | undefined {
    const linear = this.#linear
    if (linear !== undefined && linear.perText + linear.perByte * text.length <= MAX_STEPS) {
      const found = linear.regexp.exec(text)
      return found === null ? undefined : this.#numbers.map((number) => found[number])
    }
    const engine = this.#backtracker.fits(text) ? this.#backtracker : this.#captures
    const found = engine.exec(text, budget)
    if (found === undefined) return undefined
    return this.#numbers.map((number) => {
      const start = found[2 * number]!
      return start < 0 ? undefined : text.slice(start, found[2 * number + 1])
    })
  }
}

export { RegexSyntaxError }
