import type { Output, ScannedRecord, Dataset } from '../../../records/index.js'
import { MAGIC, NAMES, readHeader, RECORDS } from '../frame.js'
import { addJsonLine, jsonLine } from '../json-line.js'
import { FrameRecords, type RecordRoom } from '../layout.js'
import type { Frame, Position } from '../types.js'

/** Positions per message. No frame has more records. */
const STRIDE = 16_384

/** Returns the position of the first record of a message. */
export const positionOfMessage = (sequence: number): Position => sequence * STRIDE
/** Returns the sequence of the message that has a position. */
export const sequenceAt = (position: Position): number => Math.floor(position / STRIDE)

/** A message of the stream, which is a frame. */
export interface Message {
  readonly sequence: number
  readonly bytes: Buffer
  /** Time at which the server accepted it. It is the same for all machines. */
  readonly acceptedAt: number
  readonly count: number
  readonly fingerprint: number
}

/** Parses a message. Undefined if it is not a valid frame. Throws if a newer version wrote it. */
export function parseMessage(sequence: number, data: Uint8Array, at: Date): Message | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  const header = readHeader(bytes, 0)
  if (typeof header !== 'object' && bytes.subarray(0, MAGIC.length).equals(MAGIC) && bytes[MAGIC.length]! > NAMES)
    throw new Error(`message ${sequence} of the log spool was written by a newer version of edged`)
  if (typeof header !== 'object' || header.kind !== RECORDS) return undefined
  const { count, fingerprint } = header
  return { sequence, bytes, acceptedAt: at.getTime(), count, fingerprint }
}

/** The records of a message. */
export class MessageFrame implements Frame {
  readonly first: Position
  readonly count: number
  readonly acceptedAt: number
  readonly #records: FrameRecords
  readonly #names: readonly string[]

  constructor(message: Message, dataset: Dataset, places: Int16Array | 'the same', room: RecordRoom) {
    const { sequence, bytes, acceptedAt, count } = message
    this.first = positionOfMessage(sequence)
    this.count = count
    this.acceptedAt = acceptedAt
    this.#names = dataset.names
    this.#records = new FrameRecords(bytes, 0, bytes.length, count, places, room)
  }

  record(index: number, places?: Int16Array): ScannedRecord {
    if (!(index >= 0 && index < this.count)) throw new RangeError(`no record ${index} of ${this.count}`)
    return this.#records.read(index, places)
  }

  line(index: number): Uint8Array {
    return jsonLine(this.record(index), this.#names)
  }

  addLine(index: number, output: Output): void {
    addJsonLine(this.record(index), this.#names, output)
  }

  /** The memory belongs to the message. */
  release(): void {}
}
