/**
 * A set of bytes or code points, as the alternating first and last of each range, ascending, with gaps between ranges.
 */
export type Ranges = readonly number[]

/** Returns the set of all `first, last` pairs of `pairs`, in any order and overlapping or not. */
export function ranges(pairs: readonly number[]): Ranges {
  if (isSet(pairs)) return pairs
  const sorted: [number, number][] = []
  for (let at = 0; at < pairs.length; at += 2) sorted.push([pairs[at] as number, pairs[at + 1] as number])
  sorted.sort((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [first, last] of sorted) {
    const end = merged.length - 1
    if (end > 0 && first <= (merged[end] as number) + 1) merged[end] = Math.max(merged[end] as number, last)
    else merged.push(first, last)
  }
  return merged
}

/** Returns whether pairs are already ascending, with gaps between them. */
function isSet(pairs: readonly number[]): boolean {
  for (let at = 2; at < pairs.length; at += 2) if ((pairs[at] as number) <= (pairs[at - 1] as number) + 1) return false
  return true
}

export const union = (a: Ranges, b: Ranges): Ranges => ranges([...a, ...b])

/** Returns the members from 0 to `max` that are not in `set`. */
export function negate(set: Ranges, max: number): Ranges {
  const out: number[] = []
  let next = 0
  for (let at = 0; at < set.length; at += 2) {
    if ((set[at] as number) > next) out.push(next, (set[at] as number) - 1)
    next = (set[at + 1] as number) + 1
  }
  if (next <= max) out.push(next, max)
  return out
}

export function intersect(a: Ranges, b: Ranges): Ranges {
  const out: number[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    const first = Math.max(a[i] as number, b[j] as number)
    const last = Math.min(a[i + 1] as number, b[j + 1] as number)
    if (first <= last) out.push(first, last)
    if ((a[i + 1] as number) < (b[j + 1] as number)) i += 2
    else j += 2
  }
  return out
}

export const difference = (a: Ranges, b: Ranges, max: number): Ranges => intersect(a, negate(b, max))

export function contains(set: Ranges, value: number): boolean {
  let low = 0
  let high = set.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (value > (set[middle * 2 + 1] as number)) low = middle + 1
    else high = middle
  }
  return low * 2 < set.length && value >= (set[low * 2] as number)
}

/** Returns the set with the other case of each of its ASCII letters. */
export function foldAscii(set: Ranges): Ranges {
  const upper = intersect(set, [0x41, 0x5a]).map((char) => char + 32)
  const lower = intersect(set, [0x61, 0x7a]).map((char) => char - 32)
  return ranges([...set, ...upper, ...lower])
}
