import type { Budget } from './language/budget.js'
import type { Bytes } from './language/value.js'

/** Maximum total length of the texts of one automaton. Its table then stays below about 8 MiB. */
export const MAX_TEXT_BYTES = 32_768

/**
 * Finds which of many texts a value contains, or begins with, in one pass over it (Aho and Corasick), ignoring ASCII
 * case.
 */
export class TextAutomaton {
  readonly #anywhere: boolean
  readonly #classes = new Uint8Array(256)
  readonly #width: number
  readonly #table: Int32Array
  /** The rules to mark in each state, undefined if there are none. */
  readonly #marks: (Int32Array | undefined)[] = []

  /**
   * `rules` has an entry for each text, in lower case. With `anywhere`, texts are found anywhere, otherwise at the
   * beginning only.
   */
  constructor(texts: ReadonlyMap<Bytes, readonly number[]>, anywhere: boolean) {
    this.#anywhere = anywhere
    let width = 1
    let size = 1
    for (const text of texts.keys()) {
      size += text.length
      for (let at = 0; at < text.length; at++) {
        const byte = text.charCodeAt(at)
        if (this.#classes[byte] === 0) this.#classes[byte] = width++
      }
    }
    for (let byte = 0x41; byte <= 0x5a; byte++) this.#classes[byte] = this.#classes[byte + 32] as number
    this.#width = width
    this.#table = new Int32Array(size * width)
    const states = this.#grow(texts)
    if (anywhere) this.#link(states)
  }

  /** Builds the tree of all texts. Returns the number of its nodes. */
  #grow(texts: ReadonlyMap<Bytes, readonly number[]>): number {
    let states = 1
    for (const [text, rules] of texts) {
      let state = 0
      for (let at = 0; at < text.length; at++) {
        const slot = state * this.#width + (this.#classes[text.charCodeAt(at)] as number)
        state = this.#table[slot] as number
        if (state === 0) {
          state = states++
          this.#table[slot] = state
        }
      }
      this.#marks[state] = Int32Array.from(rules)
    }
    return states
  }

  /** Completes the tree. A state without a transition uses the transition of its longest suffix that begins a text. */
  #link(states: number): void {
    const table = this.#table
    const width = this.#width
    const back = new Int32Array(states)
    const queue: number[] = [0]
    for (const state of queue) {
      for (let byteClass = 1; byteClass < width; byteClass++) {
        const slot = state * width + byteClass
        const next = table[slot] as number
        const around = state === 0 ? 0 : (table[(back[state] as number) * width + byteClass] as number)
        if (next === 0) {
          table[slot] = around
          continue
        }
        back[next] = around
        const inherited = this.#marks[around]
        if (inherited !== undefined) {
          const own = this.#marks[next] ?? []
          this.#marks[next] = Int32Array.from(new Set([...own, ...inherited]))
        }
        queue.push(next)
      }
    }
  }

  /** Sets the bit of every rule with a text in `value`. Charges the budget for the bits. */
  mark(value: Bytes, bits: Int32Array, budget: Budget): void {
    const table = this.#table
    const classes = this.#classes
    const marks = this.#marks
    const width = this.#width
    const anywhere = this.#anywhere
    let state = 0
    const start = marks[0]
    if (start !== undefined) setBits(bits, start)
    for (let at = 0; at < value.length; at++) {
      state = table[state * width + (classes[value.charCodeAt(at)] as number)] as number
      if (state === 0) {
        if (anywhere) continue
        return
      }
      const found = marks[state]
      if (found === undefined) continue
      budget.spend((found.length >> 2) + 1)
      setBits(bits, found)
    }
  }
}

/** Sets the bits with the given numbers. */
export function setBits(bits: Int32Array, numbers: Int32Array): void {
  for (let at = 0; at < numbers.length; at++) {
    const number = numbers[at] as number
    bits[number >> 5] = (bits[number >> 5] as number) | (1 << (number & 31))
  }
}
