/** A Redis stream, read as one consumer of a group. Entries are acknowledged once their records are safe on disk. */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { writeDurably } from '../../../src/disk/durable-write.js'
import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'
import { UnfitRecord } from '../../records/index.js'
import type { Input } from '../intake/input.js'
import { MessageIntake } from '../intake/message-intake.js'
import { NotStored, orAborted, reconnecting } from '../intake/reconnect.js'
import { StreamGroup, type Entry } from './redis-group.js'
import { NO_ID } from './redis-place.js'
import { SourceLosses } from '../intake/source-losses.js'
import { spoolInput, type TakingDeps } from '../intake/spool-input.js'

export interface RedisStreamOptions {
  readonly url: string
  readonly key: string
  readonly group?: string | undefined
  readonly consumer?: string | undefined
  /** Idle time after which entries of another consumer are taken over. Default is one minute. */
  readonly idleMs?: number | undefined
  /** The field of an entry that is the record. */
  readonly field?: string | undefined
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
}

/**
 * Time without an acknowledgement after which entries of a consumer are taken over, because it does not exist any more
 * or hangs.
 */
const IDLE_MS = 60_000
/** Entries of other consumers are looked for this often. */
const CLAIM_MS = 5000

/**
 * A command without a response for this time fails. The server is unreachable, even if its connection is not closed.
 */
const COMMAND_MS = 30_000
/** Maximum time at a stop to acknowledge entries that were read. */
const CLOSE_MS = 5000

/**
 * Reads the records of a stream. Entries that were not acknowledged before a crash are read again. Rejects if the
 * stream cannot be read at the beginning. Later it waits for the server, and creates the group again if it was deleted.
 */
export async function redisStreamInput(options: RedisStreamOptions, deps: TakingDeps): Promise<Input> {
  const { url, key, group = 'edged', field = 'record', idleMs = IDLE_MS, tell } = options
  const { stats, clock } = deps
  const { Redis } = await import('ioredis')
  const redis = new Redis(url, { maxRetriesPerRequest: null, lazyConnect: true, commandTimeout: COMMAND_MS })
  let refusal: Error | undefined
  redis.on('error', (error) => {
    refusal ??= error
    deps.log.warn({ event: 'redis_stream', key, error: error.message })
  })
  const place = `the stream ${key} of ${new URL(url).host}`
  const losses = new SourceLosses({ stats, clock, tell }, `entries of ${place}`)
  const names = { key, group, consumer: options.consumer ?? '' }
  const stream = new StreamGroup(redis, names, losses)
  try {
    await redis.connect()
    await stream.make()
  } catch (error) {
    redis.disconnect()
    // A command fails only with a closed connection, for any cause.
    const why = messageOf(refusal ?? error)
    throw new Error(`${place} cannot be read: ${why}`, { cause: error })
  }
  // Only now, so that a run without a server leaves no files.
  names.consumer ||= `${hostname()}-${await ownId(deps.folder)}`
  return await spoolInput(deps, {
    endless: true,
    async take(open, signal) {
      const reader = new EntryReader(
        { ...deps, stream, losses },
        new MessageIntake(open(), stats),
        { key, field, idleMs },
        signal,
      )
      const session = async (working: () => void) => {
        const reading = reader.read(working)
        try {
          await orAborted(reading, signal)
        } catch (error) {
          // A new connection, in case that the old one is half open.
          redis.disconnect(true)
          throw error
        }
        await Promise.race([reading, clock.sleep(CLOSE_MS)]).catch(() => {})
      }
      try {
        await reconnecting(session, { place, tell, clock, signal })
      } finally {
        losses.flush()
        redis.disconnect()
      }
    },
  })
}

interface ReaderDeps {
  readonly stream: StreamGroup
  readonly losses: SourceLosses
  readonly clock: Clock
}

interface ReaderOptions {
  readonly key: string
  /** The field of an entry that is the record. */
  readonly field: string
  readonly idleMs: number
}

/** Reads the entries of a consumer into the spool. */
class EntryReader {
  readonly #deps: ReaderDeps
  readonly #intake: MessageIntake
  readonly #options: ReaderOptions
  readonly #wanted: Buffer
  readonly #signal: AbortSignal
  /** Ids of the last entries in the spool. They arrive again if their acknowledgement failed. */
  #stored = new Set<string>()
  /** Time at which entries of other consumers are looked for. */
  #claimAt = 0
  /** Id at which the search continues. */
  #claimFrom = NO_ID

  constructor(deps: ReaderDeps, intake: MessageIntake, options: ReaderOptions, signal: AbortSignal) {
    this.#deps = deps
    this.#intake = intake
    this.#options = options
    this.#wanted = Buffer.from(options.field)
    this.#signal = signal
  }

  /** Reads on one connection, until the signal aborts. */
  async read(working: () => void): Promise<void> {
    const { stream, clock } = this.#deps
    await stream.make()
    this.#claimAt = clock.monotonic()
    this.#claimFrom = NO_ID
    // First the entries that this consumer has not acknowledged, then new ones and entries of consumers that are
    // gone.
    for (let from = '0'; !this.#signal.aborted;) {
      const entries = await (from === '>' ? this.#next() : stream.pending(from))
      working()
      if (entries.length > 0) await this.#store(entries)
      else from = '>'
      if (from !== '>') from = entries.at(-1)![0].toString()
    }
  }

  /** Returns entries of other consumers if it is time to search for them and there are some, else new ones. */
  async #next(): Promise<readonly Entry[]> {
    const { stream, clock } = this.#deps
    const { idleMs } = this.#options
    while (clock.monotonic() >= this.#claimAt && !this.#signal.aborted) {
      const { entries, next } = await stream.claim(idleMs, this.#claimFrom)
      this.#claimFrom = next
      // At the end of the list of pending entries nothing is left to do for a while.
      if (next === NO_ID) this.#claimAt = clock.monotonic() + Math.min(CLAIM_MS, idleMs)
      if (entries.length > 0) return entries
    }
    return this.#signal.aborted ? [] : await stream.fresh(this.#signal)
  }

  /** Acknowledges entries after their records are safe on disk. */
  async #store(entries: readonly Entry[]): Promise<void> {
    const { stream, losses, clock } = this.#deps
    const { key, field } = this.#options
    let deleted = 0
    for (const [id, fields] of entries) {
      if (this.#stored.has(id.toString())) continue
      if (fields === null) {
        deleted++
        continue
      }
      this.#intake.add(
        () => `${key} ${id.toString()}`,
        () => recordOf(fields, this.#wanted, field),
      )
    }
    try {
      await this.#intake.commit(clock, this.#signal)
    } catch (error) {
      throw this.#signal.aborted ? error : new NotStored(error)
    }
    const ids = entries.map(([id]) => id)
    this.#stored = new Set(ids.map((id) => id.toString()))
    await stream.acknowledge(ids)
    // They were delivered, and trimmed or deleted before they were stored.
    if (deleted > 0) losses.add(deleted)
  }
}

const ID_FILE = 'consumer'

/** Returns a random id, created once for the state of a run. Two processes on one host must not have the same name. */
async function ownId(folder: string): Promise<string> {
  const path = join(folder, ID_FILE)
  const known = await fs.readFile(path, 'utf8').catch(() => '')
  if (/^[0-9a-f]{12}$/.test(known)) return known
  const id = randomBytes(6).toString('hex')
  await writeDurably(fs, path, id)
  return id
}

function recordOf(fields: readonly Buffer[], wanted: Buffer, name: string): Buffer {
  for (let at = 0; at < fields.length; at += 2) if (fields[at]!.equals(wanted)) return fields[at + 1]!
  throw new UnfitRecord(`the entry has no ${name}`)
}
