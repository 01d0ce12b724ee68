import { LF } from '../../../src/core/bytes.js'
import type { Clock } from '../../../src/core/clock.js'
import { MalformedRecord, UnfitRecord } from '../../records/index.js'
import type { LineFormat } from '../../records/text/index.js'
import type { FrameWriter } from '../../logpush/spool/types.js'
import { MAX_LINE_BYTES } from '../lines/line-blocks.js'
import { recordText, type RecordText } from '../lines/record-text.js'
import { commitPatiently } from './record-intake.js'
import type { RunStats } from './run-stats.js'

/** Bytes that are collected before a commit. */
const COMMIT_BYTES = 256 * 1024

/** Adds the records of messages, one JSON object or line each, to the spool. Invalid ones are counted and reported. */
export class MessageIntake {
  readonly #writer: FrameWriter
  readonly #stats: RunStats
  readonly #text: RecordText | undefined

  /** `lines` is the format of messages. Undefined for JSON. */
  constructor(writer: FrameWriter, stats: RunStats, lines?: LineFormat) {
    this.#writer = writer
    this.#stats = stats
    this.#text = recordText(lines)
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
      this.#writer.add(this.#text?.(withoutLineFeed(record)) ?? record)
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

/** Returns the bytes of a message that is a line, without its end. */
const withoutLineFeed = (bytes: Uint8Array): Uint8Array => (bytes.at(-1) === LF ? bytes.subarray(0, -1) : bytes)
