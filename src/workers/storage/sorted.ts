import type { Stored } from '../../core/store.js'

/** Returns the index of the first record whose id is not before `id`. The records are sorted by id. */
export function firstFrom(records: readonly Stored<unknown>[], id: string): number {
  let from = 0
  let to = records.length
  while (from < to) {
    const middle = (from + to) >>> 1
    if (records[middle]!.id < id) from = middle + 1
    else to = middle
  }
  return from
}
