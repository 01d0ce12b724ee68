/** Maximum number of characters of a value that has a key. */
const MAX_LENGTH = 200

const random = () => Math.floor(Math.random() * 0x1_0000_0000)

/** Secrets of this process: a page must not be able to choose values that have the same key. */
const START = random()
const FIRST = random() | 1
const SECOND = random() | 1

/** Returns a key of 52 bits for the code units between two positions, 0 for none and for too many of them. */
export function keyOf(units: Uint16Array, start: number, end: number): number {
  const length = end - start
  if (length <= 0 || length > MAX_LENGTH) return 0
  let first = START ^ length
  let second = START
  const last = end - 1
  // Two code units at a time. Rotated, since a multiplication moves the effect of a bit only upwards.
  for (let at = start | 0; at < end; at += 2) {
    const pair = (units[at] as number) | (at < last ? (units[at + 1] as number) << 16 : 0)
    first = Math.imul(first ^ pair, FIRST)
    first = (first << 15) | (first >>> 17)
    second = Math.imul(second ^ pair, SECOND)
    second = (second << 13) | (second >>> 19)
  }
  return (first >>> 0) * 0x10_0000 + (second >>> 12) || 1
}
