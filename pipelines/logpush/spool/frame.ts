/**
 * Layout of frames in a segment, with numbers in little-endian order.
 *
 *      0  FF 'E' 'S' kind      no text in UTF-8 has an FF
 *      4  bytes, header included
 *      8  CRC-32 of all that follows
 *     12  fingerprint of the layout
 *     16  number of records
 *     20  position of the first record, as a double
 *     28  when they were accepted, ms since 1970, as a double
 *     36  records, or in the first frame of a segment the names of the fields as JSON
 */
import { crc32 } from 'node:zlib'
import type { Position } from './types.js'

export const HEADER_BYTES = 36
/** Maximum size of a frame. A header with a larger size is invalid. */
const MAX_FRAME_BYTES = 64 * 2 ** 20

/** Kinds of frames, which are versions of the form as well. */
export const RECORDS = 1
export const NAMES = 2

/** First bytes of every frame. */
export const MAGIC = Buffer.from([0xff, 0x45, 0x53])

export interface FrameHeader {
  readonly kind: number
  readonly length: number
  readonly fingerprint: number
  readonly count: number
  readonly first: Position
  readonly acceptedAt: number
}

/** Fills the room that was left for the header. */
export function writeHeader(bytes: Buffer, header: Omit<FrameHeader, 'length'>): void {
  bytes.set(MAGIC)
  bytes[3] = header.kind
  bytes.writeUInt32LE(bytes.length, 4)
  bytes.writeUInt32LE(header.fingerprint, 12)
  bytes.writeUInt32LE(header.count, 16)
  bytes.writeDoubleLE(header.first, 20)
  bytes.writeDoubleLE(header.acceptedAt, 28)
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8)
}

/** The first frame of a segment. */
export function namesFrame(names: readonly string[], fingerprint: number, first: Position, acceptedAt: number): Buffer {
  const text = Buffer.from(JSON.stringify(names))
  const bytes = Buffer.alloc(HEADER_BYTES + text.length)
  text.copy(bytes, HEADER_BYTES)
  writeHeader(bytes, { kind: NAMES, fingerprint, count: 0, first, acceptedAt })
  return bytes
}

/**
 * Reads the frame header at `at`. Returns a number if more bytes are needed than are available, which is the number of
 * bytes needed from `at` on. Undefined if there is no valid frame.
 */
export function readHeader(bytes: Buffer, at: number): FrameHeader | number | undefined {
  const left = bytes.length - at
  if (left < HEADER_BYTES) return HEADER_BYTES
  if (bytes[at] !== MAGIC[0] || bytes[at + 1] !== MAGIC[1] || bytes[at + 2] !== MAGIC[2]) return undefined
  const kind = bytes[at + 3]!
  const length = bytes.readUInt32LE(at + 4)
  if ((kind !== RECORDS && kind !== NAMES) || length < HEADER_BYTES || length > MAX_FRAME_BYTES) return undefined
  if (left < length) return length
  if (crc32(bytes.subarray(at + 12, at + length)) !== bytes.readUInt32LE(at + 8)) return undefined
  return {
    kind,
    length,
    fingerprint: bytes.readUInt32LE(at + 12),
    count: bytes.readUInt32LE(at + 16),
    first: bytes.readDoubleLE(at + 20),
    acceptedAt: bytes.readDoubleLE(at + 28),
  }
}
