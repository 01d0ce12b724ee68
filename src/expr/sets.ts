import type { Budget } from './language/budget.js'
import type { IpRange } from './language/ip.js'
import type { Bytes, Ip, Value } from './language/value.js'

/** A test of one value. Long searches are charged to the budget. */
export type Predicate = (value: Value, budget: Budget) => boolean

/** Returns whether a byte string is one of `values`. */
export function bytesSet(values: readonly Bytes[]): (value: Value) => boolean {
  const [first, second] = values
  if (values.length === 0) return () => false
  if (values.length === 1) return (value) => value === first
  if (values.length === 2) return (value) => value === first || value === second
  const set = new Set<Value>(values)
  return (value) => set.has(value)
}

/** Returns whether a number is in one of the ranges. */
export function intSet(ranges: readonly (readonly [bigint, bigint])[]): (value: Value) => boolean {
  if (ranges.every(([first, last]) => first === last)) {
    const set = new Set<Value>(ranges.map(([first]) => Number(first)))
    const [only] = set
    return set.size === 1 ? (value) => value === only : (value) => set.has(value)
  }
  const merged = merge(ranges.map(([first, last]) => [Number(first), Number(last)]))
  return (value) => within(merged, value as number)
}

/** Returns whether an address is in one of the ranges. */
export function ipSet(ranges: readonly IpRange[]): (value: Value) => boolean {
  const v4 = merge(ranges.flatMap(({ first, last }) => (typeof first === 'number' ? [[first, last as number]] : [])))
  const v6 = merge(ranges.flatMap(({ first, last }) => (typeof first === 'string' ? [[first, last as string]] : [])))
  return (value) => (typeof value === 'number' ? within(v4, value) : within(v6, value as string))
}

/** Merges overlapping ranges. Returns alternating first and last values, in order. */
function merge<T extends Ip>(ranges: readonly (readonly T[])[]): readonly T[] {
  const sorted = [...ranges].sort(([a], [b]) => ((a as T) < (b as T) ? -1 : (a as T) > (b as T) ? 1 : 0))
  const merged: T[] = []
  for (const [first, last] of sorted as [T, T][]) {
    const end = merged.length - 1
    if (end > 0 && first <= (merged[end] as T)) {
      if (last > (merged[end] as T)) merged[end] = last
    } else merged.push(first, last)
  }
  return merged
}

/** Returns whether a value lies in one of the merged ranges. */
function within<T extends Ip>(merged: readonly T[], value: T): boolean {
  let low = 0
  let high = merged.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (value > (merged[middle * 2 + 1] as T)) low = middle + 1
    else high = middle
  }
  return low * 2 < merged.length && value >= (merged[low * 2] as T)
}
