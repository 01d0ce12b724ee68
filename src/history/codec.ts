import { COMMON_SLOTS, DURATIONS, ORIGIN_TIMES, SINGLE_SLOTS, SLOTS, type Row } from './layout.js'

/**
 * Rows as bytes. A section is a list of rows, each with its key: length and UTF-8 of the key, two masks of the single
 * numbers that are not 0, those numbers, then for each of the two times the first bucket (plus 1; 0: no times), the number
 * of buckets and their counts. All numbers are unsigned LEB128.
 */
export class SectionWriter {
  #bytes: Buffer
  #at = 0

  constructor(size = 4096) {
    this.#bytes = Buffer.allocUnsafe(size)
  }

  get length(): number {
    return this.#at
  }

  /** Adds a row. `key` is a text, or bytes that are UTF-8. */
  row(key: string | Uint8Array, row: Row): void {
    const bytes = typeof key === 'string' ? Buffer.from(key) : key
    this.#reserve(bytes.length + MAX_ROW_BYTES)
    this.#number(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
    this.#singles(row, 0, COMMON_SLOTS)
    this.#singles(row, COMMON_SLOTS, SINGLE_SLOTS)
    this.#times(row, DURATIONS, ORIGIN_TIMES)
    this.#times(row, ORIGIN_TIMES, SLOTS)
  }

  /** Adds a number and a section. */
  section(number: number, bytes: Uint8Array): void {
    this.#reserve(bytes.length + 20)
    this.#number(number)
    this.#number(bytes.length)
    this.#bytes.set(bytes, this.#at)
    this.#at += bytes.length
  }

  /** Returns a copy of the bytes, and begins again. */
  take(): Buffer {
    const bytes = Buffer.from(this.#bytes.subarray(0, this.#at))
    this.#at = 0
    return bytes
  }

  #reserve(more: number): void {
    const needed = this.#at + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }

  #number(value: number): void {
    while (value > 0x7f) {
      this.#bytes[this.#at++] = (value % 128) | 0x80
      value = Math.floor(value / 128)
    }
    this.#bytes[this.#at++] = value
  }

  #singles(row: Row, from: number, to: number): void {
    let mask = 0
    for (let slot = from; slot < to; slot++) if (row[slot]! > 0) mask += 2 ** (slot - from)
    this.#number(mask)
    for (let slot = from; slot < to; slot++) if (row[slot]! > 0) this.#number(row[slot]!)
  }

  #times(row: Row, from: number, to: number): void {
    let first = from
    while (first < to && row[first] === 0) first++
    let last = to - 1
    while (last >= first && row[last] === 0) last--
    if (first > last) return this.#number(0)
    this.#number(first - from + 1)
    this.#number(last - first + 1)
    for (let slot = first; slot <= last; slot++) this.#number(row[slot]!)
  }
}

/** Numbers of at most 8 bytes (2^53). */
const MAX_ROW_BYTES = 8 * (SLOTS + 8)

/** Reads sections of a {@link SectionWriter}. */
export class SectionReader {
  readonly #bytes: Buffer
  #at: number

  /** `at`: where the first row begins. */
  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#at = at
  }

  /** Where the row begins whose key is read next, or whose key was read. */
  get at(): number {
    return this.#at
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Returns the key of the next row; {@link add} must follow. */
  key(): string {
    const length = this.#number()
    const from = this.#at
    this.#at += length
    return this.#bytes.toString('utf8', from, this.#at)
  }

  /** Returns the number of requests of the row whose key was read, without moving. */
  get requests(): number {
    const at = this.#at
    const isCounted = this.#number() % 2 === 1
    const requests = isCounted ? this.#number() : 0
    this.#at = at
    return requests
  }

  /** Adds the row whose key was read to another one, or skips it without one. */
  add(to: Row | undefined): void {
    this.#singles(to, 0)
    this.#singles(to, COMMON_SLOTS)
    this.#times(to, DURATIONS)
    this.#times(to, ORIGIN_TIMES)
  }

  /** Returns the next section and its number. */
  section(): { readonly number: number; readonly bytes: Uint8Array } {
    const number = this.#number()
    const length = this.#number()
    const bytes = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return { number, bytes }
  }

  #number(): number {
    const first = this.#bytes[this.#at]
    if (first !== undefined && first < 0x80) {
      this.#at++
      return first
    }
    let value = 0
    let factor = 1
    for (;;) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new Error('counts are cut off')
      if (byte < 0x80) return value + byte * factor
      value += (byte - 0x80) * factor
      factor *= 128
    }
  }

  #singles(to: Row | undefined, first: number): void {
    // At most 25 bits.
    let mask = this.#number()
    for (let slot = first; mask > 0; slot++, mask >>>= 1) {
      if ((mask & 1) === 0) continue
      const value = this.#number()
      if (to) to[slot]! += value
    }
  }

  #times(to: Row | undefined, from: number): void {
    const first = this.#number()
    if (first === 0) return
    const count = this.#number()
    for (let slot = from + first - 1, left = count; left > 0; slot++, left--) {
      const value = this.#number()
      if (to) to[slot]! += value
    }
  }
}
