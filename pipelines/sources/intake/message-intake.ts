import type { Clock } from '../../../src/core/clock.js'
import { MalformedRecord, UnfitRecord } from '../../records/index.js'
import type { FrameWriter } from '../../logpush/spool/types.js'
import { MAX_LINE_BYTES } from '../lines/line-blocks.js'
import { commitPatiently } from './record-intake.js'
import type { RunStats } from './run-stats.js'

/** Bytes that are collected before a commit. */
const COMMIT_BYTES = 256 * 1024

/** Adds the records of messages, one JSON object each, to the spool. Invalid ones are counted and reported. */
export class MessageIntake {
  readonly #writer: FrameWriter
  readonly #stats: RunStats

  constructor(writer: FrameWriter, stats: RunStats) {
    this.#writer = writer
    this.#stats = stats
  }

  /** Whether enough has been added for a commit. */
  get full(): boolean {
    return this.#writer.size >= COMMIT_BYTES
  }

  /**
   * Adds the record that `read` returns. `read` may throw UnfitRecord. `place` names the message in reports. `rejected`
   * is called if the record is invalid.
   */
  add(place: () => string, read: () => Uint8Array, rejected?: (message: string) => void): void {
    this.#stats.read++
    try {
      const record = read()
      if (record.length > MAX_LINE_BYTES) throw new UnfitRecord(`the record is longer than ${MAX_LINE_BYTES} bytes`)
      this.#writer.add(record)
    } catch (error) {
      if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
      this.#stats.reject(place(), error.message)
      rejected?.(error.message)
    }
  }

  /** Resolves when the records are durable. Waits while the spool is full, and calls `waiting` at each attempt. */
  async commit(clock: Clock, signal: AbortSignal, waiting?: () => Promise<unknown>): Promise<void> {
    if (this.#writer.count > 0) await commitPatiently(this.#writer, clock, signal, waiting)
  }
}
