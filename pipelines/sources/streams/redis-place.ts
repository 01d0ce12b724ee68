/** Position of a group in its Redis stream, and entries that were trimmed or deleted before it. */

/** The members of XINFO STREAM and XINFO GROUPS that count; Redis 6 has neither `added`, `maxDeleted` nor `read`. */
export interface StreamPlace {
  readonly length: number
  /** Id of the last entry that was ever added. */
  readonly last: string
  /** Id of the first entry that is there. */
  readonly first: string | undefined
  /** Entries that were ever added. */
  readonly added: number | undefined
  /** Greatest id that was deleted individually. Trimming does not change it. */
  readonly maxDeleted: string | undefined
  /** Id up to which the group has delivered entries. */
  readonly delivered: string
  /** How many entries were ever added up to that id. */
  readonly read: number | undefined
}

export const NO_ID = '0-0'

/** Returns the position of a group from the responses to XINFO. Undefined if the stream does not have the group. */
export function placeOf(
  stream: readonly unknown[],
  groups: readonly unknown[],
  group: string,
): StreamPlace | undefined {
  const own = groups.map((each) => members(each as readonly unknown[])).find((each) => text(each['name']) === group)
  if (own === undefined) return undefined
  const facts = members(stream)
  const [first] = (facts['first-entry'] ?? []) as readonly unknown[]
  return {
    length: Number(facts['length']),
    last: text(facts['last-generated-id']) ?? NO_ID,
    first: text(first),
    added: count(facts['entries-added']),
    maxDeleted: text(facts['max-deleted-entry-id']),
    delivered: text(own['last-delivered-id']) ?? NO_ID,
    read: count(own['entries-read']),
  }
}

/** Entries that were lost; `records` is undefined if their number is not known, or if it is not certain that there are any. */
export interface Loss {
  readonly records: number | undefined
}

/**
 * Returns the entries lost between the position of a group and the next entry that it can read. A read up to `until`
 * follows. Entries deleted after `until` are reported when the group reaches them.
 */
export function lossBefore(place: StreamPlace, until: string | undefined): Loss | undefined {
  const { length, last, first, added, maxDeleted, delivered, read } = place
  if (compareIds(delivered, last) >= 0) return undefined
  if (first === undefined || compareIds(first, delivered) > 0) {
    // No read entry exists any more, so all missing unread entries are lost.
    if (added === undefined || read === undefined) return added === length ? undefined : { records: undefined }
    const records = added - length - read
    return records > 0 ? { records } : undefined
  }
  const isPassed = maxDeleted !== undefined && compareIds(maxDeleted, until ?? last) <= 0
  return isPassed && compareIds(maxDeleted, delivered) > 0 ? { records: undefined } : undefined
}

/** Compares the ids of two entries by their time, then by their sequence. */
export function compareIds(a: string, b: string): number {
  const [ofA, ofB] = [parts(a), parts(b)]
  const at = ofA[0] === ofB[0] ? 1 : 0
  return ofA[at] === ofB[at] ? 0 : ofA[at] < ofB[at] ? -1 : 1
}

function parts(id: string): readonly [time: bigint, sequence: bigint] {
  const [time = '0', sequence = '0'] = id.split('-')
  return [BigInt(time), BigInt(sequence)]
}

function members(flat: readonly unknown[]): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (let at = 0; at + 1 < flat.length; at += 2) found[String(flat[at])] = flat[at + 1]
  return found
}

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || Buffer.isBuffer(value) ? value.toString() : undefined

const count = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
