import { createHash } from 'node:crypto'
import { QUOTE } from '../../src/core/bytes.js'
import { ESCAPED, type ScannedRecord } from './fields/scan.js'
import { decoded } from './fields/strings.js'

/** How repeated records are recognized. */
export interface DedupeOptions {
  /** Place of the field by which records are the same. */
  readonly place: number
  /** Milliseconds after the first one. */
  readonly windowMs: number
  /** Maximum number of remembered values. Beyond it the oldest are forgotten. */
  readonly entries: number
}

interface First {
  readonly position: number
  readonly at: number
}

/** A longer value is remembered by its digest. */
const MAX_TEXT = 64

/**
 * Recognizes records whose value was seen before. The same record, read again as after a failed upload, is not a repetition
 * of itself, so that batches which are created again are the same.
 */
export class Dedupe {
  readonly #place: number
  readonly #windowMs: number
  readonly #entries: number
  /** In the order of their first records. */
  readonly #seen = new Map<string, First>()

  constructor({ place, windowMs, entries }: DedupeOptions) {
    this.#place = place
    this.#windowMs = windowMs
    this.#entries = entries
  }

  /** Returns whether the record repeats an earlier one. A record without the value never does. */
  repeats(record: ScannedRecord, position: number, at: number): boolean {
    const start = record.starts[this.#place]!
    if (start < 0 || record.bytes[start] === 0x6e) return false
    const value = valueOf(record, start, record.ends[this.#place]!, record.marks[this.#place]!)
    const first = this.#seen.get(value)
    if (first !== undefined) {
      if (position <= first.position) return false
      if (at - first.at <= this.#windowMs) return true
      this.#seen.delete(value)
    }
    this.#seen.set(value, { position, at })
    this.#forget(at)
    return false
  }

  #forget(now: number): void {
    for (const [value, { at }] of this.#seen) {
      if (this.#seen.size <= this.#entries && now - at <= this.#windowMs) return
      this.#seen.delete(value)
    }
  }
}

function valueOf({ bytes }: ScannedRecord, start: number, end: number, mark: number): string {
  const text = mark === ESCAPED && bytes[start] === QUOTE ? decoded(bytes, start, end) : bytes.subarray(start, end)
  const isText = bytes[start] === QUOTE
  const inner = isText && mark !== ESCAPED ? text.subarray(1, -1) : text
  const form = isText ? '"' : ''
  if (inner.length <= MAX_TEXT)
    return form + Buffer.from(inner.buffer, inner.byteOffset, inner.length).toString('latin1')
  return `${form}#${createHash('sha256').update(inner).digest('base64')}`
}
