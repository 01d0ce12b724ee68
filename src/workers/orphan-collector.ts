import { setImmediate as turn } from 'node:timers/promises'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Closable } from '../core/closing-stack.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Store } from '../core/store.js'
import { assetsInUse, endSessions, forgetUnused } from './assets/in-use.js'

export interface CollectorDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly clock: Clock
  readonly log: Log
  /** Blobs that no record names go once they are this old. */
  readonly olderThanMs: () => number
}

/** After the start, so that a daemon that never runs for an hour collects too. */
const FIRST_MS = 300_000
const EVERY_MS = 3_600_000
/** Records that are read in one turn of the event loop. */
const RECORDS_PER_TURN = 200
const BLOB_NAME = /^[0-9a-f]{64}$/

/**
 * Deletes blobs that no record of the store and no list of a Worker's files names. Every string that reads like the
 * name of a blob counts as one, so a kind of record that is added later loses nothing. Also ends expired uploads of
 * files, and deletes the records of files that no version has. Resolves with the number of deleted blobs.
 */
export async function collectOrphans({ store, blobs, clock, olderThanMs }: CollectorDeps): Promise<number> {
  await endSessions(store, clock)
  const inUse = await assetsInUse(store, blobs)
  const named = new Set(inUse.blobs)
  // All records of one moment. A blob that a later record takes over is named by one record of this moment.
  const records = [...store.records()]
  for (const [index, { value }] of records.entries()) {
    note(value, named)
    if (index % RECORDS_PER_TURN === 0) await turn()
  }
  const collected = await blobs.collect(named, olderThanMs())
  await forgetUnused(store, inUse, records)
  return collected
}

/**
 * Returns possible names of blobs in these values of records, and the blobs of all files of Workers. Rejects if a list
 * of files is missing.
 */
export async function blobNames(store: Store, blobs: Blobs, values: readonly unknown[]): Promise<ReadonlySet<string>> {
  const named = new Set((await assetsInUse(store, blobs)).blobs)
  for (const [index, value] of values.entries()) {
    note(value, named)
    if (index % RECORDS_PER_TURN === 0) await turn()
  }
  return named
}

function note(value: unknown, into: Set<string>): void {
  const open = [value]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') {
      if (BLOB_NAME.test(next)) into.add(next)
    } else if (next !== null && typeof next === 'object') {
      for (const member of Object.values(next)) if (member !== undefined) open.push(member)
    }
  }
}

/** The collector in the background. */
export interface Collector extends Closable {
  /** Deletes nothing until the returned function is called. Resolves when nothing is being deleted. */
  hold(): Promise<() => void>
}

/** Collects orphans a few minutes after the start and then every hour, until it is closed. */
export function startCollector(deps: CollectorDeps): Collector {
  const ended = new AbortController()
  let holds = 0
  let collecting: Promise<void> | undefined
  const collect = async (): Promise<void> => {
    try {
      const gone = await collectOrphans(deps)
      if (gone > 0) deps.log.info({ event: 'orphans_collected', blobs: gone })
    } catch (error) {
      deps.log.warn({ event: 'orphans_not_collected', error: messageOf(error) })
    }
  }
  const run = async (): Promise<void> => {
    for (let wait = FIRST_MS; ; wait = EVERY_MS) {
      await deps.clock.sleep(wait, ended.signal)
      if (holds > 0) continue
      collecting = collect()
      await collecting
    }
  }
  // Ends by the signal alone.
  const running = run().catch(() => undefined)
  return {
    async hold() {
      holds++
      await collecting
      return () => void holds--
    },
    async close() {
      ended.abort()
      await running
    },
  }
}
