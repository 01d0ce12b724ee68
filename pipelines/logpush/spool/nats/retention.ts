import { AgeClock } from '../../../../src/core/age-clock.js'
import type { Clock } from '../../../../src/core/clock.js'
import { messageOf } from '../../../../src/core/errors.js'
import { KeyedMutex } from '../../../../src/core/keyed-mutex.js'
import type { Log } from '../../../../src/core/log.js'
import { DAEMON } from '../../../../src/core/scope.js'
import type { Store } from '../../../../src/core/store.js'
import type { LossCounter } from '../loss-counter.js'
import type { Position } from '../types.js'
import { positionOfMessage, sequenceAt, type Message } from './frame.js'
import type { NatsLink } from './link.js'
import type { ReaderLeases } from './reader-leases.js'
import type { StreamReader } from './stream-reader.js'

const ROUND_MS = 10_000
/** Messages that go together when there is no room. */
const DROPPED_TOGETHER = 16
const LEASE = 'retention'

export interface RetentionDeps {
  readonly link: NatsLink
  readonly reader: StreamReader
  readonly leases: ReaderLeases
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Messages older than this are deleted, delivered or not. */
  readonly ageMs: number | undefined
  /** Returns the oldest position that a cursor of a subject needs. Undefined if it has no cursor. */
  readonly least: (subject: string) => Position | undefined
  readonly losses: (subject: string) => LossCounter
}

/** Messages up to a sequence that are deleted, with the records of each message that a reader has not delivered. */
interface Deletion {
  /** Id of the stream. */
  readonly stream: string
  readonly seq: number
  readonly reason: 'limit' | 'age'
  readonly lost: readonly { readonly subject: string; readonly records: number }[]
}

/**
 * Deletes messages that no reader needs. One machine at a time does it. If the stream is full, every machine does it.
 */
export class StreamRetention {
  readonly #deps: RetentionDeps
  readonly #ages: AgeClock
  readonly #closing = new AbortController()
  readonly #turns = new KeyedMutex()
  /** Sequence up to which a subject is empty. */
  readonly #purged = new Map<string, number>()
  /** Last message of the round before. Newer messages stay although no stored cursor needs them. */
  #before = 0
  /** A deletion without a response. Its messages may be gone, and their records are not counted. */
  #unanswered: Deletion | undefined
  #running: Promise<void> | undefined

  constructor(deps: RetentionDeps) {
    this.#deps = deps
    this.#ages = new AgeClock(deps.clock)
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#settle().catch(() => undefined)
  }

  /** Deletes messages that all cursors have passed. Rejects if the servers or the store are unavailable. */
  async trim(): Promise<void> {
    await this.#turns.run('trim', async () => await this.#trim())
  }

  /** Deletes the oldest messages, and counts their records that a reader has not delivered. False if there are none. */
  async dropOldest(reason: 'limit' | 'age', before = Infinity): Promise<boolean> {
    return await this.#turns.run('drop', async () => await this.#drop(reason, before))
  }

  async #run(): Promise<void> {
    const { clock, leases, link, log, ageMs } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      await clock.sleep(ROUND_MS, signal).catch(() => {})
      if (signal.aborted || link.unavailable !== undefined) continue
      try {
        await this.#settle()
        if (!(await leases.tryHold(DAEMON, LEASE))) continue
        await this.trim()
        if (ageMs !== undefined) await this.#dropAged(ageMs)
      } catch (error) {
        if (!signal.aborted) log.warn({ event: 'spool_release_failed', error: messageOf(error) })
      }
    }
  }

  async #dropAged(ageMs: number): Promise<void> {
    for (let more = true; more && !this.#closing.signal.aborted;)
      more = await this.dropOldest('age', this.#ages.now() - ageMs)
  }

  async #trim(): Promise<void> {
    const { link, store, least } = this.#deps
    const { stream } = link.target
    const { jsm } = link.ready
    const info = await jsm.streams.info(stream, { subjects_filter: `${stream}.>` })
    // A cursor that another machine confirms from now on begins after these messages.
    await store.caughtUp()
    for (const subject of Object.keys(info.state.subjects ?? {})) {
      const needed = least(subject)
      const kept = needed === undefined ? this.#before + 1 : sequenceAt(needed)
      if (kept <= (this.#purged.get(subject) ?? 1)) continue
      await jsm.streams.purge(stream, { filter: subject, seq: kept })
      this.#purged.set(subject, kept)
    }
    for (const subject of this.#purged.keys())
      if (!(subject in (info.state.subjects ?? {}))) this.#purged.delete(subject)
    this.#before = info.state.last_seq
  }

  async #drop(reason: Deletion['reason'], before: number): Promise<boolean> {
    const { link, reader } = this.#deps
    await this.#repeat()
    const oldest: { readonly subject: string; readonly message: Message }[] = []
    for (let from = 1; oldest.length < DROPPED_TOGETHER;) {
      const found = await reader.oldest(from)
      if (found === undefined || found.message.acceptedAt >= before) break
      oldest.push(found)
      from = found.message.sequence + 1
    }
    const last = oldest.at(-1)
    if (last === undefined) return false
    // Readers go on behind the messages as soon as these are gone.
    const lost = oldest.map(({ subject, message }) => ({ subject, records: this.#undelivered(subject, message) }))
    const deletion = { stream: link.ready.id, seq: last.message.sequence + 1, reason, lost }
    this.#unanswered = deletion
    const purged = await this.#purge(deletion)
    // Messages deleted by another machine in the meantime are counted there.
    this.#count(deletion, Math.max(0, lost.length - purged))
    return true
  }

  /** Completes a deletion without a response, and counts what it lost. */
  async #settle(): Promise<void> {
    if (this.#unanswered !== undefined) await this.#turns.run('drop', async () => await this.#repeat())
  }

  async #repeat(): Promise<void> {
    const deletion = this.#unanswered
    if (deletion === undefined) return
    // A stream that took its place has other messages.
    if (deletion.stream === this.#deps.link.ready.id) {
      await this.#purge(deletion)
      this.#count(deletion, 0)
    }
    this.#unanswered = undefined
  }

  async #purge({ seq }: Deletion): Promise<number> {
    const { target, ready } = this.#deps.link
    const { purged } = await ready.jsm.streams.purge(target.stream, { seq })
    this.#unanswered = undefined
    return purged
  }

  #count({ lost, reason }: Deletion, from: number): void {
    for (const { subject, records } of lost.slice(from))
      if (records > 0) this.#deps.losses(subject).add(reason, records)
  }

  /** Returns how many records of a message a reader has not delivered. */
  #undelivered(subject: string, { sequence, count }: Message): number {
    const first = positionOfMessage(sequence)
    const needed = this.#deps.least(subject)
    return needed === undefined ? 0 : Math.max(0, first + count - Math.max(first, needed))
  }
}
