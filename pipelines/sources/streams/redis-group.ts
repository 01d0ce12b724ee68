/** One consumer of a group of a Redis stream, with its commands and the detection of lost entries. */
import type { Redis } from 'ioredis'
import { orAborted } from '../intake/reconnect.js'
import { compareIds, lossBefore, NO_ID, placeOf, type StreamPlace } from './redis-place.js'
import type { SourceLosses } from '../intake/source-losses.js'

export type Entry = readonly [id: Buffer, fields: readonly Buffer[] | null]

export interface GroupNames {
  readonly key: string
  readonly group: string
  readonly consumer: string
}

interface Claimed {
  readonly entries: readonly Entry[]
  /** Id at which the search continues, `0-0` after the last entry. */
  readonly next: string
}

/** Maximum entries of one read. With records of a mebibyte, a read stays bounded. */
const COUNT = 64
/** Maximum wait of a read for entries. A stop is noticed within this time. */
const BLOCK_MS = 1000

/** Finds the group ARGV[1]: `at` is its last id, `read` the count of entries up to it. */
const FIND = `
local at, read
for _, facts in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for index = 1, #facts, 2 do group[facts[index]] = facts[index + 1] end
  if group['name'] == ARGV[1] then at, read = group['last-delivered-id'], group['entries-read'] end
end`

/**
 * Moves a group after deleted entries, from ARGV[2] to ARGV[3]. ARGV[4] is the number of entries ever added up to
 * there, empty if unknown. Does nothing if another consumer did it or has read in the meantime.
 */
const MOVE = `${FIND}
if at ~= ARGV[2] or #redis.call('XRANGE', KEYS[1], '(' .. at, ARGV[3], 'COUNT', 1) > 0 then return 0 end
if ARGV[4] == '' then redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], ARGV[3])
else redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], ARGV[3], 'ENTRIESREAD', ARGV[4]) end
return 1`

/**
 * Adds ARGV[2] to the number of entries that a group counts as read. Redis before 7.2 does not count skipped entries.
 */
const CORRECT = `${FIND}
if not read then return 0 end
redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], at, 'ENTRIESREAD', read + ARGV[2])
return 1`

export class StreamGroup {
  readonly #redis: Redis
  readonly #names: GroupNames
  readonly #losses: SourceLosses
  #existed = false
  /** Whether the server permits reading the position. */
  #looks = true
  /** A place at which the group had read everything, and how many entries were added up to it. */
  #known: { readonly id: string; readonly added: number | undefined } | undefined
  /** Id of the entry that ended a wait at that position, because it follows there. */
  #next: string | undefined
  /** Id up to which losses are reported, if the group cannot be moved after them. */
  #reported = NO_ID

  constructor(redis: Redis, names: GroupNames, losses: SourceLosses) {
    this.#redis = redis
    this.#names = names
    this.#losses = losses
  }

  /** Makes the group if the stream does not have it, from the first entry on. */
  async make(): Promise<void> {
    const { key, group } = this.#names
    const begin = ['CREATE', key, group, '0', 'MKSTREAM'] as const
    try {
      const trimmed = await this.#trimmed()
      if (trimmed === undefined) await this.#redis.xgroup(...begin)
      else await this.#redis.xgroup(...begin, 'ENTRIESREAD', trimmed)
      // The client that deleted it, or the stream, may have deleted entries that were not read.
      if (this.#existed) this.#losses.add(undefined)
      this.#known = undefined
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error
    }
    this.#existed = true
  }

  /** Returns entries after an id that this consumer has not acknowledged. */
  async pending(from: string): Promise<readonly Entry[]> {
    return await this.#read(from)
  }

  /** Returns new entries. Without any it waits for them, and returns none. */
  async fresh(signal: AbortSignal): Promise<readonly Entry[]> {
    if (!this.#looks) return await this.#read('>')
    try {
      return await this.#watched(signal)
    } catch (error) {
      if (!/NOPERM|unknown (sub)?command/i.test(String(error))) throw error
      this.#looks = false
      this.#losses.failed(error)
      // Without permission for MULTI the read was executed.
      return await this.#read('0')
    }
  }

  /** Takes over entries that another consumer has not acknowledged for a time. */
  async claim(idleMs: number, start: string): Promise<Claimed> {
    const { key, group, consumer } = this.#names
    const found = (await this.#redis.callBuffer(
      'XAUTOCLAIM',
      key,
      group,
      consumer,
      idleMs,
      start,
      'COUNT',
      COUNT,
    )) as readonly [Buffer, readonly (Entry | null)[], (readonly Buffer[])?]
    // Redis 6.2 returns null for deleted entries. Later versions list their ids and forget them.
    const deleted = (found[2] ?? []).map((id): Entry => [id, null])
    return { next: found[0].toString(), entries: [...found[1].filter((entry) => entry !== null), ...deleted] }
  }

  async acknowledge(ids: readonly Buffer[]): Promise<void> {
    const { key, group } = this.#names
    await this.#redis.xack(key, group, ...ids)
  }

  /** Reads entries and the position of the group in one transaction, so that no other consumer acts in between. */
  async #watched(signal: AbortSignal): Promise<readonly Entry[]> {
    const { key, group, consumer } = this.#names
    // Not as `multi()` of the library, whose results are text.
    const results = await this.#redis
      .pipeline()
      .callBuffer('MULTI')
      .callBuffer('XINFO', 'STREAM', key)
      .callBuffer('XINFO', 'GROUPS', key)
      .callBuffer('XREADGROUP', 'GROUP', group, consumer, 'COUNT', COUNT, 'STREAMS', key, '>')
      .callBuffer('XINFO', 'GROUPS', key)
      .callBuffer('EXEC')
      .exec()
    // The error of a command that was not queued says more than the error of the transaction.
    for (const [failure] of results!) if (failure !== null) throw failure
    const [, replies] = results!.at(-1)!
    const [stream, before, read, after] = replies as readonly unknown[]
    for (const reply of [read, stream]) if (reply instanceof Error) throw reply
    const entries = entriesOf(read)
    const place = placeOf(stream as unknown[], before as unknown[], group)
    const now = placeOf(stream as unknown[], after as unknown[], group)
    if (place !== undefined && now !== undefined) await this.#judge(place, now, entries)
    if (entries.length > 0 || place === undefined) return entries
    await orAborted(this.#wait(now?.delivered ?? place.delivered), signal)
    return []
  }

  /** Counts entries missing between two positions of the group, and entries read between these positions. */
  async #judge(place: StreamPlace, now: StreamPlace, entries: readonly Entry[]): Promise<void> {
    const { delivered, last, added, length } = place
    const isKnown = this.#known?.id === delivered
    const read = place.read ?? (isKnown ? this.#known!.added : undefined)
    // Without counts of the server, nothing is lost if the wait ended with the entry that is read now. A producer
    // that adds and trims in one transaction can hide entries from that check.
    const follows = read === undefined && isKnown && entries[0]?.[0].toString() === this.#next
    const until = entries.at(-1)?.[0].toString()
    const loss = follows ? undefined : lossBefore({ ...place, read }, until)
    const at = now.delivered
    if (loss !== undefined && entries.length > 0) {
      this.#losses.add(loss.records)
      const behind = added === undefined || now.read === undefined ? 0 : added - (length - entries.length) - now.read
      if (loss.records !== undefined && behind > 0) await this.#run(CORRECT, behind)
    } else if (loss !== undefined) {
      // A stream without more entries is looked at again and again, by each consumer.
      const isMoved = await this.#run(MOVE, at, last, (loss.records !== undefined && added) || '')
      if (isMoved ?? compareIds(last, this.#reported) > 0) this.#losses.add(loss.records)
      this.#reported = last
    }
    this.#known = compareIds(at, last) >= 0 ? { id: at, added } : undefined
    this.#next = undefined
  }

  /** Runs a script. Returns whether it did its work. Undefined if the server does not permit it. */
  async #run(script: string, ...more: readonly (string | number)[]): Promise<boolean | undefined> {
    const { key, group } = this.#names
    try {
      return (await this.#redis.eval(script, 1, key, group, ...more)) === 1
    } catch (error) {
      if (/NOPERM|unknown/i.test(String(error))) return undefined
      throw error
    }
  }

  /** Waits for an entry after an id, without consuming it. */
  async #wait(id: string): Promise<void> {
    const { key } = this.#names
    const found = await this.#redis.callBuffer('XREAD', 'COUNT', 1, 'BLOCK', BLOCK_MS, 'STREAMS', key, id)
    this.#next = entriesOf(found)[0]?.[0].toString()
  }

  async #read(from: string): Promise<readonly Entry[]> {
    const { key, group, consumer } = this.#names
    const options = ['COUNT', COUNT, 'BLOCK', BLOCK_MS]
    return entriesOf(
      await this.#redis.callBuffer('XREADGROUP', 'GROUP', group, consumer, ...options, 'STREAMS', key, from),
    )
  }

  /** Returns how many entries of the stream are deleted. Undefined if the server does not report it. */
  async #trimmed(): Promise<number | undefined> {
    const { key } = this.#names
    try {
      const facts = (await this.#redis.callBuffer('XINFO', 'STREAM', key)) as unknown[]
      const place = placeOf(facts, [['name', '']], '')
      return place?.added === undefined ? undefined : place.added - place.length
    } catch {
      // The stream does not exist yet, or the server does not permit reading its position.
      return undefined
    }
  }
}

/** Returns the entries of a response, which has a name and entries per stream. Null if the wait timed out. */
function entriesOf(found: unknown): readonly Entry[] {
  const [stream] = (found ?? []) as readonly (readonly [Buffer, readonly Entry[]])[]
  return stream?.[1] ?? []
}
