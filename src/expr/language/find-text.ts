import type { Budget } from './budget.js'
import type { Bytes } from './value.js'

/** Returns the first position of a fixed byte string at or after `from`, or -1. Charges the budget for the search. */
export type Find = (text: Bytes, from: number, budget: Budget) => number

/** The engine searches shorter needles in time linear in the text. */
const MIN_LENGTH = 16
/** Below this product of lengths the engine is fast enough for any text. */
const MAX_PRODUCT = 65_536
/** Cost of a search in addition to its bytes, in steps of the budget. */
const SEARCH_STEPS = 4

/**
 * Prepares a search for `needle`. The engine's own search takes time text length times needle length for some texts
 * (0.1 s for 128 KiB), so long searches use the algorithm of Knuth, Morris and Pratt.
 */
export function finder(needle: Bytes): Find {
  let borders: Int32Array | undefined
  return (text, from, budget) => {
    // Before the search, so that no further one begins after the budget is used up.
    budget.spend(SEARCH_STEPS)
    if (needle.length < MIN_LENGTH || text.length * needle.length <= MAX_PRODUCT) {
      const found = text.indexOf(needle, from)
      const searched = (found === -1 ? text.length : found + needle.length) - from
      budget.spend(slowest(searched))
      return found
    }
    if (borders === undefined) {
      budget.spend(needle.length)
      borders = bordersOf(needle)
    }
    return find(text, { from, needle, borders, budget })
  }
}

interface Search {
  readonly from: number
  readonly needle: Bytes
  readonly borders: Int32Array
  readonly budget: Budget
}

/** Returns the cost of a search through some bytes of the slowest texts, in steps of the budget. */
const slowest = (bytes: number): number => bytes - (bytes >> 3)

/** Charges one step for each byte, and one for each time that the search falls back to a shorter prefix. */
function find(text: Bytes, { from, needle, borders, budget }: Search): number {
  let matched = 0
  let back = 0
  let at = from
  for (; at < text.length && matched < needle.length; at++) {
    const byte = text.charCodeAt(at)
    while (matched > 0 && needle.charCodeAt(matched) !== byte) {
      matched = borders[matched - 1] as number
      back++
    }
    if (needle.charCodeAt(matched) === byte) matched++
  }
  budget.spend(at - from + back)
  return matched === needle.length ? at - matched : -1
}

/** Returns, for each prefix of the needle, the length of its longest proper prefix that is also its suffix. */
function bordersOf(needle: Bytes): Int32Array {
  const borders = new Int32Array(needle.length)
  for (let at = 1, length = 0; at < needle.length; at++) {
    const byte = needle.charCodeAt(at)
    while (length > 0 && needle.charCodeAt(length) !== byte) length = borders[length - 1] as number
    if (needle.charCodeAt(length) === byte) length++
    borders[at] = length
  }
  return borders
}
