/**
 * Reads a record once, byte by byte, and locates the values of its dataset's fields. Values keep their bytes. Nothing
 * is decoded, so 19 digits, escapes and the order of keys inside objects survive. The grammar is the whole of RFC 8259,
 * checked also in values that no field uses.
 */
import { isUtf8 } from 'node:buffer'
import { BACKSLASH, COLON, COMMA, DOT, MINUS, QUOTE } from '../../../src/core/bytes.js'
import type { Dataset } from './dataset.js'
import { decoded } from './strings.js'

/** A record is not a JSON object, or not a well-formed one. */
export class MalformedRecord extends Error {
  override readonly name = 'MalformedRecord'
  /** The byte of the record, from 0, at which it went wrong. */
  readonly position: number

  constructor(reason: string, position: number) {
    super(`${reason} at byte ${position}`)
    this.position = position
  }
}

/** A string with escapes, so that its bytes are not its text. */
export const ESCAPED = 1
/** An object or list with line breaks or tabs between its tokens. */
export const SPREAD = 2

/** A scanned record, with the begin and end of the value of each field in `bytes`. A missing field begins at -1. */
export interface ScannedRecord {
  readonly bytes: Uint8Array
  /** By place in the dataset. A string's slice has its quotes. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** {@link ESCAPED} and {@link SPREAD}. */
  readonly marks: Uint8Array
}

const MAX_DEPTH = 64

const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const PLUS = 0x2b

/** Bytes that end a run of plain bytes in a string, which are its closing quote, an escape and a control character. */
const STOPS = Uint8Array.from({ length: 256 }, (_, byte) => Number(byte < 0x20 || byte === QUOTE || byte === BACKSLASH))
/** Returns whether one of four bytes may be in {@link STOPS}. False is certain. */
function mayStop(word: number): boolean {
  const quote = word ^ 0x22222222
  const escape = word ^ 0x5c5c5c5c
  const found = ((quote - 0x01010101) & ~quote) | ((escape - 0x01010101) & ~escape) | ((word - 0x20202020) & ~word)
  return (found & 0x80808080) !== 0
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39
const isHexDigit = (byte: number) => (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)

/** Reads records of one dataset. Returns the same object for each record, with new contents. */
export class Scanner {
  readonly record: { bytes: Uint8Array; starts: Int32Array; ends: Int32Array; marks: Uint8Array }
  readonly #keys: KeyTable
  /** The field at each position of the record before. The next record usually has the same fields in the same order. */
  readonly #expected: Int16Array
  #bytes: Uint8Array = new Uint8Array(0)
  /** View of the same bytes, for reading four together. */
  #words = new DataView(this.#bytes.buffer)
  #start = 0
  #end = 0
  #mark = 0
  /** All bytes of strings so far, combined by "or". Below 0x80 there is no UTF-8 to check. */
  #high = 0

  constructor({ names, places }: Pick<Dataset, 'names' | 'places'>) {
    const count = names.length
    this.record = {
      bytes: this.#bytes,
      starts: new Int32Array(count).fill(-1),
      ends: new Int32Array(count),
      marks: new Uint8Array(count),
    }
    this.#keys = new KeyTable(names, places)
    this.#expected = new Int16Array(256).fill(-1)
  }

  /**
   * Reads one JSON object, which fills `bytes` from `start` to `end` except for white space. Unknown members are
   * checked and skipped. The last of several members with the same key counts. Throws {@link MalformedRecord}.
   */
  scan(bytes: Uint8Array, start = 0, end = bytes.length): ScannedRecord {
    const { record } = this
    if (bytes !== this.#bytes) this.#words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#bytes = bytes
    this.#start = start
    this.#end = end
    this.#high = 0
    record.bytes = bytes
    record.starts.fill(-1)
    let at = this.#space(start)
    if (at >= end) throw this.#wrong('the record is missing', at)
    if (bytes[at] !== OPEN_BRACE) throw this.#wrong('a record is a JSON object', at)
    at = this.#space(this.#members(at + 1))
    if (at < end) throw this.#wrong('there is more text after the record', at)
    if ((this.#high & 0x80808080) !== 0 && !isUtf8(bytes.subarray(start, end)))
      throw this.#wrong('the record is not UTF-8', start)
    return record
  }

  /**
   *     {"RayID":"3a60ff","EdgeResponseStatus":404}
   *      ^
   */
  #members(from: number): number {
    const { starts, ends, marks } = this.record
    const bytes = this.#bytes
    const keys = this.#keys
    let at = this.#space(from)
    if (bytes[at] === CLOSE_BRACE && at < this.#end) return at + 1
    for (let position = 0; ; position++) {
      if (bytes[at] !== QUOTE || at >= this.#end) throw this.#wrong('a key is expected', at)
      let place = this.#expected[position & 0xff]!
      const colon = place < 0 ? -1 : keys.colonBehind(place, this.#words, at + 1)
      if (colon >= 0 && colon < this.#end) at = colon
      else {
        this.#mark = 0
        const close = this.#string(at)
        place = this.#mark === ESCAPED ? keys.decodedPlace(bytes, at, close) : keys.place(bytes, at + 1, close - 1)
        this.#expected[position & 0xff] = place
        at = this.#space(close)
        if (bytes[at] !== COLON || at >= this.#end) throw this.#wrong('a colon is expected', at)
      }
      const start = this.#space(at + 1)
      this.#mark = 0
      at = this.#value(start, 1)
      if (place >= 0) {
        starts[place] = start
        ends[place] = at
        marks[place] = this.#mark
      }
      if (bytes[at] !== COMMA || at >= this.#end) {
        at = this.#space(at)
        if (at < this.#end && bytes[at] === CLOSE_BRACE) return at + 1
        if (bytes[at] !== COMMA || at >= this.#end)
          throw this.#wrong('a comma or the end of the object is expected', at)
      }
      at = this.#space(at + 1)
    }
  }

  #value(at: number, depth: number): number {
    if (at >= this.#end) throw this.#wrong('a value is expected', at)
    const byte = this.#bytes[at]!
    if (byte === QUOTE) return this.#string(at)
    if (byte === MINUS || isDigit(byte)) return this.#number(at)
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      const close = byte === OPEN_BRACE ? this.#object(at, depth + 1) : this.#list(at, depth + 1)
      this.#mark &= ~ESCAPED
      return close
    }
    if (byte === 0x74) return this.#literal(at, TRUE)
    if (byte === 0x66) return this.#literal(at, FALSE)
    if (byte === 0x6e) return this.#literal(at, NULL)
    throw this.#wrong('a value is expected', at)
  }

  #object(from: number, depth: number): number {
    if (depth > MAX_DEPTH) throw this.#wrong(`more than ${MAX_DEPTH} levels of objects and lists`, from)
    const bytes = this.#bytes
    let at = this.#spread(from + 1)
    if (at < this.#end && bytes[at] === CLOSE_BRACE) return at + 1
    for (;;) {
      if (at >= this.#end || bytes[at] !== QUOTE) throw this.#wrong('a key is expected', at)
      at = this.#spread(this.#string(at))
      if (at >= this.#end || bytes[at] !== COLON) throw this.#wrong('a colon is expected', at)
      at = this.#spread(this.#value(this.#spread(at + 1), depth))
      if (at < this.#end && bytes[at] === CLOSE_BRACE) return at + 1
      if (at >= this.#end || bytes[at] !== COMMA) throw this.#wrong('a comma or the end of the object is expected', at)
      at = this.#spread(at + 1)
    }
  }

  #list(from: number, depth: number): number {
    if (depth > MAX_DEPTH) throw this.#wrong(`more than ${MAX_DEPTH} levels of objects and lists`, from)
    const bytes = this.#bytes
    let at = this.#spread(from + 1)
    if (at < this.#end && bytes[at] === CLOSE_BRACKET) return at + 1
    for (;;) {
      at = this.#spread(this.#value(at, depth))
      if (at < this.#end && bytes[at] === CLOSE_BRACKET) return at + 1
      if (at >= this.#end || bytes[at] !== COMMA) throw this.#wrong('a comma or the end of the list is expected', at)
      at = this.#spread(at + 1)
    }
  }

  /** Reads from the opening quote to the end of the closing one. */
  #string(from: number): number {
    const bytes = this.#bytes
    const words = this.#words
    const end = this.#end
    let at = from + 1
    let high = this.#high
    for (;;) {
      for (; at + 4 <= end; at += 4) {
        const word = words.getInt32(at, true)
        if (mayStop(word)) break
        high |= word
      }
      let byte = 0
      while (at < end && STOPS[(byte = bytes[at]!)] === 0) {
        high |= byte
        at++
      }
      if (at >= end) throw this.#wrong('the record ends in a string', end)
      if (byte === QUOTE) {
        this.#high = high
        return at + 1
      }
      if (byte !== BACKSLASH) throw this.#wrong('a string contains a control character', at)
      this.#mark |= ESCAPED
      at = this.#escape(at)
    }
  }

  /**
   *     "caf\u00e9"
   *         ^
   */
  #escape(at: number): number {
    const byte = at + 1 < this.#end ? this.#bytes[at + 1]! : 0
    if (ESCAPES.includes(byte)) return at + 2
    if (byte !== 0x75) throw this.#wrong('unknown escape', at)
    if (at + 6 > this.#end) throw this.#wrong('the record ends in a string', this.#end)
    for (let digit = at + 2; digit < at + 6; digit++)
      if (!isHexDigit(this.#bytes[digit]!)) throw this.#wrong('four hexadecimal digits are expected', at + 2)
    return at + 6
  }

  #number(from: number): number {
    const bytes = this.#bytes
    let at = from
    if (bytes[at] === MINUS) at++
    if (bytes[at] === 0x30 && at < this.#end) at++
    else at = this.#digits(at)
    if (at < this.#end && bytes[at] === DOT) at = this.#digits(at + 1)
    if (at < this.#end && (bytes[at]! | 0x20) === 0x65) {
      at++
      if (at < this.#end && (bytes[at] === PLUS || bytes[at] === MINUS)) at++
      at = this.#digits(at)
    }
    return at
  }

  #digits(from: number): number {
    const bytes = this.#bytes
    let at = from
    while (at < this.#end && isDigit(bytes[at])) at++
    if (at === from) throw this.#wrong('a digit is expected', at)
    return at
  }

  #literal(from: number, word: Uint8Array): number {
    if (from + word.length > this.#end) throw this.#wrong('a value is expected', from)
    for (let i = 1; i < word.length; i++) {
      if (this.#bytes[from + i] !== word[i]) throw this.#wrong('a value is expected', from)
    }
    return from + word.length
  }

  #space(from: number): number {
    const bytes = this.#bytes
    let at = from
    while (at < this.#end) {
      const byte = bytes[at]!
      if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break
      at++
    }
    return at
  }

  /**
   * Skips white space inside a value. Marks a value with white space other than blanks, because it must not reach the
   * output, where a line is a record.
   */
  #spread(from: number): number {
    const at = this.#space(from)
    for (let i = from; i < at; i++) if (this.#bytes[i] !== 0x20) this.#mark |= SPREAD
    return at
  }

  #wrong(reason: string, at: number): MalformedRecord {
    return new MalformedRecord(reason, Math.min(at, this.#end) - this.#start)
  }
}

const word = (text: string) => new TextEncoder().encode(text)
const TRUE = word('true')
const FALSE = word('false')
const NULL = word('null')
const ESCAPES = word('"\\/bfnrt')

/** Finds the index of a field by the bytes of its key, without creating a string. */
class KeyTable {
  readonly #places: ReadonlyMap<string, number>
  readonly #bytes: Uint8Array
  readonly #starts: Int32Array
  /** Each key followed by `":`, with four bytes in a number, and the mask of the last number. */
  readonly #words: Int32Array
  readonly #wordStarts: Int32Array
  readonly #lastBits: Int32Array
  readonly #slots: Int16Array
  readonly #mask: number

  constructor(names: readonly string[], places: ReadonlyMap<string, number>) {
    this.#places = places
    const keys = names.map(word)
    this.#starts = new Int32Array(keys.length + 1)
    for (const [place, key] of keys.entries()) this.#starts[place + 1] = this.#starts[place]! + key.length
    this.#bytes = new Uint8Array(this.#starts[keys.length]!)
    for (const [place, key] of keys.entries()) this.#bytes.set(key, this.#starts[place])
    this.#wordStarts = new Int32Array(keys.length + 1)
    this.#lastBits = new Int32Array(keys.length)
    for (const [place, key] of keys.entries()) {
      const last = (key.length + 1) % 4
      this.#lastBits[place] = last === 3 ? -1 : 2 ** (8 * (last + 1)) - 1
      this.#wordStarts[place + 1] = this.#wordStarts[place]! + Math.ceil((key.length + 2) / 4)
    }
    this.#words = new Int32Array(this.#wordStarts[keys.length]!)
    for (const [place, key] of keys.entries()) {
      const padded = Buffer.alloc(Math.ceil((key.length + 2) / 4) * 4)
      padded.set(key)
      padded.write('":', key.length)
      for (let i = 0; i < padded.length; i += 4) this.#words[this.#wordStarts[place]! + i / 4] = padded.readInt32LE(i)
    }
    // At most a quarter full, so that a key finds its slot, or that it has none, in a step or two.
    const size = 2 ** Math.ceil(Math.log2(keys.length * 4 + 1))
    this.#mask = size - 1
    this.#slots = new Int16Array(size).fill(-1)
    for (const [place, key] of keys.entries()) {
      let slot = hash(key, 0, key.length) & this.#mask
      while (this.#slots[slot]! >= 0) slot = (slot + 1) & this.#mask
      this.#slots[slot] = place
    }
  }

  lengthOf(place: number): number {
    return this.#starts[place + 1]! - this.#starts[place]!
  }

  /**
   * Returns the position of the colon if the key of a field is at `at`, followed by quote and colon. Returns -1 if not,
   * or if the bytes end near there.
   */
  colonBehind(place: number, bytes: DataView, at: number): number {
    const from = this.#wordStarts[place]!
    const last = this.#wordStarts[place + 1]! - 1
    if (at + (last - from + 1) * 4 > bytes.byteLength) return -1
    let to = at
    for (let i = from; i < last; i++, to += 4) if (bytes.getInt32(to, true) !== this.#words[i]) return -1
    const differ = bytes.getInt32(to, true) ^ this.#words[last]!
    return (differ & this.#lastBits[place]!) === 0 ? at + this.lengthOf(place) + 1 : -1
  }

  /** Returns whether the key of a field is at `at`, followed by the closing quote. */
  isAt(place: number, bytes: Uint8Array, at: number): boolean {
    const start = this.#starts[place]!
    const length = this.#starts[place + 1]! - start
    if (bytes[at + length] !== QUOTE) return false
    for (let i = 0; i < length; i++) if (bytes[at + i] !== this.#bytes[start + i]) return false
    return true
  }

  /** -1 for a key that is not a field's. */
  place(bytes: Uint8Array, start: number, end: number): number {
    let slot = hash(bytes, start, end) & this.#mask
    for (;;) {
      const place = this.#slots[slot]!
      if (place < 0 || (this.lengthOf(place) === end - start && this.isAt(place, bytes, start))) return place
      slot = (slot + 1) & this.#mask
    }
  }

  decodedPlace(bytes: Uint8Array, start: number, end: number): number {
    return this.#places.get(new TextDecoder().decode(decoded(bytes, start, end))) ?? -1
  }
}

/** FNV-1a. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5
  for (let i = start; i < end; i++) value = Math.imul(value ^ bytes[i]!, 0x01000193)
  return value ^ (value >>> 15)
}
