import type { Batch } from '../../src/core/sink.js'
import { BatchText } from '../records/index.js'
import type { CompiledJob } from './compiled-job.js'
import type { BatchLimits } from './limits.js'
import type { Place } from './place.js'
import type { Lines } from './reader.js'
import type { Stage, StagedBody } from './staging.js'

/** A batch that is ready to be sent, and the lines that it holds. */
export interface ReadyBatch extends Batch {
  readonly body: StagedBody
  readonly first: Place
  readonly end: Place
}

/** Text that is handed on at once, to be compressed. */
const PIECE = 256 * 1024

/** The batch that a job fills now. */
export class OpenBatch {
  readonly #job: CompiledJob
  readonly #limits: BatchLimits
  readonly #stage: Stage
  readonly #text: BatchText
  #handedOn = 0
  #first: Place | undefined
  #from = 0
  #to = 0
  /** It takes no further line. */
  full = false

  constructor(job: CompiledJob, limits: BatchLimits, stage: Stage) {
    this.#job = job
    this.#limits = limits
    this.#stage = stage
    this.#text = new BatchText(job.format)
  }

  get records(): number {
    return this.#text.records
  }

  /** When its first record was accepted, ms since 1970. */
  get from(): number {
    return this.#from
  }

  /**
   * Takes lines from `index` up to `end`, those that the job wants, and gives the index of the first that it has not
   * looked at. It stops where it is full, and where `flush` should be called.
   */
  add(lines: Lines, index: number, end: number): number {
    const text = this.#text
    const before = text.records
    const taken = this.#take(lines, index, end)
    if (text.records > before) this.#to = Math.max(this.#from, lines.acceptedAt)
    return taken
  }

  #take(lines: Lines, index: number, end: number): number {
    const { keeps, samples, places } = this.#job
    const text = this.#text
    for (let at = index; at < end; at++) {
      const record = lines.record(at, places)
      if (!keeps(record) || !samples(lines.key(at))) continue
      text.add(record)
      if (text.size > this.#limits.bytes && text.records > 1) {
        text.removeLast()
        this.full = true
        return at
      }
      if (text.records === 1) this.#begin(lines, at)
      this.full = text.records >= this.#limits.records || text.size > this.#limits.bytes
      if (this.full || text.size - this.#handedOn >= PIECE) return at + 1
    }
    return end
  }

  /** Hands on what can be; resolves when there is room for more. */
  async flush(): Promise<void> {
    if (this.#text.size - this.#handedOn < PIECE) return
    this.#handedOn = this.#text.size
    await this.#stage.write(this.#text.take())
  }

  /** Ends it in front of `end`; it has at least one record. */
  async close(
    end: Place,
    nameOf: (batch: { from: Date; to: Date; first: Place; end: Place }) => string,
  ): Promise<ReadyBatch> {
    if (this.#first === undefined) throw new Error('a batch without records')
    const { records, size } = this.#text
    const range = { from: new Date(this.#from), to: new Date(this.#to), first: this.#first, end }
    const body = await this.#stage.end(this.#text.close())
    return { ...range, name: nameOf(range), records, size, body }
  }

  async discard(): Promise<void> {
    await this.#stage.discard()
  }

  #begin(lines: Lines, at: number): void {
    this.#first = lines.place(at)
    this.#from = lines.acceptedAt
  }
}
