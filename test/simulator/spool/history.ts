import type { Loss } from '../../../pipelines/logpush/spool/loss-counter.js'
import type { Frame, Position } from '../../../pipelines/logpush/spool/types.js'
import { Finding } from '../world.js'

const ID = /\d+/g
const FIRST_ID = 1e6

/** Batches that one job has delivered. */
interface Delivered {
  readonly texts: Map<string, string>
  /** Name of the batch of each record. */
  readonly batches: Map<number, string>
}

interface HistoryOptions {
  readonly splits: boolean
  readonly drops: boolean
  readonly tears?: boolean
  readonly place: number
}

/** What clients and receivers know of a spool, over all lives. Each method throws a {@link Finding} about a broken promise. */
export class History {
  readonly #acknowledged = new Set<number>()
  readonly #positions = new Map<number, Position>()
  readonly #records = new Map<Position, number>()
  readonly #jobs = new Map<string, Delivered>()
  /** Frames that were checked. */
  readonly #frames = new WeakSet<Frame>()
  readonly #splits: boolean
  readonly #drops: boolean
  readonly #place: number
  /** Records of commits without an answer, of this life and of lives that ended. */
  readonly #unanswered = new Set<number>()
  readonly #tears: boolean
  #torn = 0
  /** Lost records that nobody is left to count. */
  uncountable = 0
  #next = 0
  #dropped = 0

  /**
   * `splits`: batches can become smaller, under other names. `drops`: the oldest records are dropped at a limit. `tears`: a power
   * failure tears appends. `place` is the field with the id of a record.
   */
  constructor({ splits, drops, tears = false, place }: HistoryOptions) {
    this.#place = place
    this.#tears = tears
    this.#splits = splits
    this.#drops = drops
  }

  get acknowledged(): number {
    return this.#acknowledged.size
  }

  /** Ids of records that a client is about to send. */
  begin(count: number): number[] {
    const ids = Array.from({ length: count }, () => this.#next++)
    for (const id of ids) this.#unanswered.add(id)
    return ids
  }

  acknowledge(ids: readonly number[]): void {
    for (const id of ids) this.#acknowledged.add(id)
    this.reject(ids)
  }

  reject(ids: readonly number[]): void {
    for (const id of ids) this.#unanswered.delete(id)
  }

  /**
   * The spool counts records as lost. Only a limit excuses a loss. An append that a power failure has torn can lack a commit and
   * have the next one. The spool cannot know that the append was not confirmed, and counts the commit that is missing.
   */
  lost(records: number, reason: Loss): void {
    if (this.#tears && reason === 'damage' && (this.#torn += records) <= this.#unanswered.size) return
    if (!this.#drops || (reason !== 'limit' && reason !== 'missing'))
      throw new Finding(`${records} records are counted as lost: ${reason}`)
    this.#dropped += records
  }

  /** A job counts records that the spool does not have any more. */
  skipped(records: number): void {
    if (!this.#drops && records > this.#torn) throw new Finding(`a job skips ${records} records`)
  }

  /** A job has read a frame. A position has one record for ever. */
  read(frame: Frame): void {
    if (this.#frames.has(frame)) return
    this.#frames.add(frame)
    for (let index = 0; index < frame.count; index++) {
      const position = frame.first + index
      const { bytes, starts, ends } = frame.record(index)
      const digits = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
        'latin1',
        starts[this.#place],
        ends[this.#place],
      )
      const id = Number(digits) - FIRST_ID
      const before = this.#records.get(position)
      if (before !== undefined && before !== id) throw new Finding(`position ${position} was ${before}, is ${id}`)
      const other = this.#positions.get(id)
      if (other !== undefined && other !== position) throw new Finding(`record ${id} is at ${other} and ${position}`)
      this.#records.set(position, id)
      this.#positions.set(id, position)
    }
  }

  /** A batch that was begun comes again with the same name and bytes. */
  arrived(job: string, name: string, text: string): void {
    const delivered = this.#of(job)
    const before = delivered.texts.get(name)
    if (before !== undefined && before !== text) throw new Finding(`${job}: ${name} has other bytes than before`)
    delivered.texts.set(name, text)
    let last = -1
    for (const [digits] of text.matchAll(ID)) {
      const id = Number(digits) - FIRST_ID
      const position = this.#positions.get(id)
      if (id >= this.#next || position === undefined)
        throw new Finding(`${job}: ${id} is delivered, and nobody sent it`)
      if (position <= last) throw new Finding(`${job}: position ${position} comes after ${last}`)
      last = position
      const batch = delivered.batches.get(id) ?? name
      if (batch !== name && !this.#splits) throw new Finding(`${job}: ${id} is in ${batch} and in ${name}`)
      delivered.batches.set(id, name)
    }
  }

  isDone(records: number, jobs: readonly string[]): boolean {
    return (
      this.acknowledged >= records &&
      jobs.every((job) => this.#missingIn(job).length <= this.#dropped + this.uncountable)
    )
  }

  missing(jobs: readonly string[]): void {
    for (const job of jobs) {
      const missing = this.#missingIn(job)
      if (missing.length > this.#dropped + this.uncountable)
        throw new Finding(`${job}: acknowledged and never delivered: ${missing.join()}`)
    }
  }

  #missingIn(job: string): number[] {
    const { batches } = this.#of(job)
    return [...this.#acknowledged].filter((id) => !batches.has(id))
  }

  #of(job: string): Delivered {
    let delivered = this.#jobs.get(job)
    if (delivered === undefined) this.#jobs.set(job, (delivered = { texts: new Map(), batches: new Map() }))
    return delivered
  }
}
