/**
 * Layout of records in a frame. A record has the lengths of its values in the order of the dataset, then the values
 * without separators.
 *
 *     lengths  2 bytes per field (14 bits of length, 2 bits of marks), length 0 if the field is missing
 *     values   "3a60ff"404true
 *
 * After the last record follows an index with the offset of each record, 4 bytes each. The highest bit of an offset is
 * set if the lengths of that record have 4 bytes, with 30 bits of length.
 */
import { crc32 } from 'node:zlib'
import type { LogRecord } from '../../../src/core/emit.js'
import { ESCAPED, type ScannedRecord } from '../../records/fields/scan.js'
import type { Buffers } from './buffers.js'
import { HEADER_BYTES } from './frame.js'
import type { FrameParts } from './types.js'
import { jsonText } from './json-text.js'

/** Frames are closed at this size. A frame with a single larger record is larger. */
const FRAME_BYTES = 256 * 1024
/** Maximum records in a frame. */
const FRAME_RECORDS = 16_384
/** Maximum bytes of the values of a record. A larger record is rejected. */
export const RECORD_BYTES = 16 * 2 ** 20

const FIRST_ROOM = 8 * 1024
/** A frame beyond {@link FIRST_ROOM} most often fits into so much. */
export const FRAME_ROOM = FRAME_BYTES + 64 * 1024
const WIDE = 0x8000_0000
const NARROW_LENGTH = 0x3fff
const WIDE_LENGTH = 0x3fff_ffff
/** Copying so few bytes one by one is faster than a call. */
const FEW_BYTES = 40

/** Returns a checksum of the field names in order, which distinguishes layouts. */
export const fingerprint = (names: readonly string[]): number => crc32(names.join('\n'))

/** Packs records into frames. */
export class FramePacker {
  readonly #names: readonly string[]
  readonly #buffers: Buffers
  #bytes: Buffer<ArrayBuffer> = Buffer.allocUnsafeSlow(FIRST_ROOM)
  #at = HEADER_BYTES
  #starts: number[] = []
  #closed: FrameParts[] = []
  /** Memory of the closed frames. */
  readonly #memory: Buffer<ArrayBuffer>[] = []
  #closedCount = 0
  #closedBytes = 0

  constructor(names: readonly string[], buffers: Buffers) {
    this.#names = names
    this.#buffers = buffers
  }

  get count(): number {
    return this.#closedCount + this.#starts.length
  }

  /** Bytes that the frames have when they are taken now. */
  get size(): number {
    return this.#closedBytes + (this.#starts.length > 0 ? this.#at + this.#starts.length * 4 : 0)
  }

  add({ bytes, starts, ends, marks }: ScannedRecord): void {
    const fields = this.#names.length
    let longest = 0
    let length = 0
    for (let place = 0; place < fields; place++) {
      if (starts[place]! < 0) continue
      const own = ends[place]! - starts[place]!
      length += own
      if (own > longest) longest = own
    }
    const wide = longest > NARROW_LENGTH
    this.#reserve(length + fields * 4)
    const out = this.#bytes
    let cell = this.#at
    let at = cell + fields * (wide ? 4 : 2)
    this.#starts.push(wide ? cell + WIDE : cell)
    for (let place = 0; place < fields; place++) {
      const start = starts[place]!
      const own = start < 0 ? 0 : ends[place]! - start
      if (wide) cell = out.writeUInt32LE(own + marks[place]! * (WIDE_LENGTH + 1), cell)
      else {
        const value = own | (marks[place]! << 14)
        out[cell++] = value
        out[cell++] = value >>> 8
      }
      if (own > FEW_BYTES) out.set(bytes.subarray(start, start + own), at)
      else for (let i = 0; i < own; i++) out[at + i] = bytes[start + i]!
      at += own
    }
    this.#close(at)
  }

  addEvent(event: LogRecord): void {
    let max = this.#names.length * 4
    const texts: string[] = []
    for (const name of this.#names) {
      const value = event[name]
      const text = value === undefined ? '' : jsonText(value)
      // No character needs more than three bytes of UTF-8 for each of its UTF-16 units.
      max += text.length * 3
      texts.push(text)
    }
    if (max > RECORD_BYTES * 3) throw new RangeError(`an event of more than ${RECORD_BYTES} bytes`)
    this.#reserve(max)
    let end = this.#writeAscii(texts)
    if (end < 0) end = this.#writeTexts(texts, false)
    this.#close(end < 0 ? this.#writeTexts(texts, true) : end)
  }

  /** Adds a frame that another packer of the same fields closed. */
  adopt(frame: FrameParts): void {
    this.#finish()
    this.#closed.push(frame)
    this.#closedCount += frame.count
    this.#closedBytes += frame.bytes.length
  }

  /** Returns the added records as frames. They stay here until `clear`. */
  frames(): readonly FrameParts[] {
    this.#finish()
    return this.#closed
  }

  clear(): void {
    for (const memory of this.#memory.splice(0)) this.#buffers.give(memory)
    this.#closed = []
    this.#closedCount = 0
    this.#closedBytes = 0
  }

  /** Does the same in one write for ASCII texts, the usual case. Returns -1 also for other texts. */
  #writeAscii(texts: readonly string[]): number {
    const out = this.#bytes
    let cell = this.#at
    const from = cell + texts.length * 2
    const all = texts.join('')
    if (out.write(all, from) !== all.length) return -1
    for (const text of texts) {
      if (text.length > NARROW_LENGTH) return -1
      const value = text.length | (markOf(text) << 14)
      out[cell++] = value
      out[cell++] = value >>> 8
    }
    this.#starts.push(this.#at)
    return from + all.length
  }

  /** Returns the end of the record, or -1 if a value is too long for lengths of 2 bytes. */
  #writeTexts(texts: readonly string[], wide: boolean): number {
    const out = this.#bytes
    let cell = this.#at
    let at = cell + texts.length * (wide ? 4 : 2)
    for (const text of texts) {
      const length = text === '' ? 0 : out.write(text, at)
      const mark = markOf(text)
      if (wide) cell = out.writeUInt32LE(length + mark * (WIDE_LENGTH + 1), cell)
      else if (length > NARROW_LENGTH) return -1
      else cell = out.writeUInt16LE(length | (mark << 14), cell)
      at += length
    }
    this.#starts.push(wide ? this.#at + WIDE : this.#at)
    return at
  }

  #reserve(more: number): void {
    const needed = this.#at + more + (this.#starts.length + 1) * 4
    if (needed <= this.#bytes.length) return
    const larger = needed <= this.#buffers.size ? this.#buffers.take() : Buffer.allocUnsafeSlow(needed * 2)
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#buffers.give(this.#bytes)
    this.#bytes = larger
  }

  /** A record ends here. */
  #close(at: number): void {
    this.#at = at
    if (at + this.#starts.length * 4 >= FRAME_BYTES || this.#starts.length >= FRAME_RECORDS) this.#finish()
  }

  #finish(): void {
    const count = this.#starts.length
    if (count === 0) return
    this.#reserve(0)
    for (const start of this.#starts) this.#at = this.#bytes.writeUInt32LE(start, this.#at)
    this.#memory.push(this.#bytes)
    this.#closed.push({ bytes: this.#bytes.subarray(0, this.#at), count })
    this.#closedCount += count
    this.#closedBytes += this.#at
    this.#bytes = Buffer.allocUnsafeSlow(FIRST_ROOM)
    this.#at = HEADER_BYTES
    this.#starts = []
  }
}

const markOf = (text: string): number => (text.startsWith('"') && text.includes('\\') ? ESCAPED : 0)

/** Object into which records are read one after the other. */
export interface RecordRoom extends ScannedRecord {
  bytes: Uint8Array
}

/** Creates memory for records with this number of fields. */
export const recordRoom = (fields: number): RecordRoom => ({
  bytes: new Uint8Array(0),
  starts: new Int32Array(fields),
  ends: new Int32Array(fields),
  marks: new Uint8Array(fields),
})

/** Reads the records of one frame into the fields of a dataset as it is now. */
export class FrameRecords {
  readonly #record: RecordRoom
  readonly #bytes: Buffer
  /** Of the same bytes. */
  readonly #cells: DataView
  readonly #starts: number
  readonly #from: number
  readonly #places: Int16Array | 'the same'

  /**
   * Creates a frame from `bytes` between `from` and `to`. `places` has the current index for each field index of the
   * stored layout, or -1 for a removed field, if the layouts differ.
   */
  constructor(
    bytes: Buffer,
    from: number,
    to: number,
    count: number,
    places: Int16Array | 'the same',
    room: RecordRoom,
  ) {
    this.#bytes = bytes
    this.#cells = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    this.#from = from
    this.#starts = to - count * 4
    this.#places = places
    this.#record = room
  }

  /** Returns the record at an index. With `wanted`, ascending, only the fields at these indexes are guaranteed. */
  read(index: number, wanted?: Int16Array): ScannedRecord {
    this.#record.bytes = this.#bytes
    const entry = this.#cells.getUint32(this.#starts + index * 4, true)
    if (entry < WIDE && this.#places === 'the same') {
      if (wanted === undefined) this.#readNarrow(this.#from + entry)
      else this.#readSome(this.#from + entry, wanted)
    } else this.#readAny(this.#from + (entry % WIDE), entry >= WIDE ? 4 : 2)
    return this.#record
  }

  #readNarrow(from: number): void {
    const { starts, ends, marks } = this.#record
    const bytes = this.#bytes
    const fields = starts.length
    let at = from + fields * 2
    for (let place = 0, cell = from; place < fields; place++, cell += 2) {
      const value = bytes[cell]! | (bytes[cell + 1]! << 8)
      const length = value & NARROW_LENGTH
      starts[place] = length === 0 ? -1 : at
      at += length
      ends[place] = at
      marks[place] = value >>> 14
    }
  }

  #readSome(from: number, wanted: Int16Array): void {
    const { starts, ends, marks } = this.#record
    const cells = this.#cells
    let at = from + starts.length * 2
    let cell = from
    for (let i = 0; i < wanted.length; i++) {
      const place = wanted[i]!
      const own = from + place * 2
      at += lengthsOf(cells, cell, own)
      const value = cells.getUint16(own, true)
      const length = value & NARROW_LENGTH
      starts[place] = length === 0 ? -1 : at
      at += length
      ends[place] = at
      marks[place] = value >>> 14
      cell = own + 2
    }
  }

  /** Slow path for wide lengths or moved fields. */
  #readAny(from: number, width: 2 | 4): void {
    const { starts, ends, marks } = this.#record
    const places = this.#places
    const fields = places === 'the same' ? starts.length : places.length
    const bits = width * 8 - 2
    starts.fill(-1)
    let at = from + fields * width
    for (let i = 0; i < fields; i++) {
      const value = this.#bytes.readUIntLE(from + i * width, width)
      const length = value % 2 ** bits
      const place = places === 'the same' ? i : places[i]!
      if (place >= 0) {
        starts[place] = length === 0 ? -1 : at
        ends[place] = at + length
        marks[place] = value >>> bits
      }
      at += length
    }
  }
}

/** Two lengths of 14 bits in one number, without their marks. */
const LENGTHS = 0x3fff_3fff

/** The sum of the lengths of 2 bytes from `cell` to `end`. Most of the time of a read is here, so it adds pairs, and four of these. */
function lengthsOf(cells: DataView, cell: number, end: number): number {
  let sum = 0
  let at = cell
  for (; at + 16 <= end; at += 16) {
    // Four lengths of 14 bits fit into the 16 of one half.
    const first = (cells.getInt32(at, true) & LENGTHS) + (cells.getInt32(at + 4, true) & LENGTHS)
    const pair = (first + (cells.getInt32(at + 8, true) & LENGTHS) + (cells.getInt32(at + 12, true) & LENGTHS)) | 0
    sum += (pair & 0xffff) + (pair >>> 16)
  }
  for (; at + 4 <= end; at += 4) {
    const pair = cells.getInt32(at, true)
    sum += (pair & NARROW_LENGTH) + ((pair >>> 16) & NARROW_LENGTH)
  }
  return at < end ? sum + (cells.getUint16(at, true) & NARROW_LENGTH) : sum
}
