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
  for (let at = start | 0; at < end; at++) {
    const unit = units[at] as number
    first = Math.imul(first ^ unit, FIRST)
    first ^= first >>> 15
    second = Math.imul(second ^ unit, SECOND)
    second ^= second >>> 13
  }
  return (first >>> 0) * 0x10_0000 + (second >>> 12) || 1
}
