import type { Bytes } from './value.js'

/** Returns the first position of a fixed byte string at or after `from`, or -1. */
export type Find = (text: Bytes, from: number) => number

/** The engine searches shorter needles in time linear in the text. */
const MIN_LENGTH = 16
/** Below this product of lengths the engine is fast enough for any text. */
const MAX_PRODUCT = 65_536

/**
 * Prepares a search for `needle`. The engine's own search takes time text length times needle length for some texts
 * (0.1 s for 128 KiB), so long searches use the algorithm of Knuth, Morris and Pratt.
 */
export function finder(needle: Bytes): Find {
  if (needle.length < MIN_LENGTH) return (text, from) => text.indexOf(needle, from)
  let borders: Int32Array | undefined
  return (text, from) => {
    if (text.length * needle.length <= MAX_PRODUCT) return text.indexOf(needle, from)
    borders ??= bordersOf(needle)
    return find(text, from, needle, borders)
  }
}

function find(text: Bytes, from: number, needle: Bytes, borders: Int32Array): number {
  let matched = 0
  for (let at = from; at < text.length; at++) {
    const byte = text.charCodeAt(at)
    while (matched > 0 && needle.charCodeAt(matched) !== byte) matched = borders[matched - 1] as number
    if (needle.charCodeAt(matched) === byte) matched++
    if (matched === needle.length) return at + 1 - matched
  }
  return -1
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
