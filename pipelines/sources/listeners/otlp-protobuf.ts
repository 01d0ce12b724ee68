/** The protobuf form of OTLP logs requests, decoded to the members of their JSON form. */
import type { Pause } from '../../../src/core/schedule/event-loop-yield.js'

/** Bytes are not a well-formed protobuf message of the expected type. */
export class MalformedProtobuf extends Error {
  override readonly name = 'MalformedProtobuf'
}

type ScalarType = 'string' | 'bool' | 'int64' | 'double' | 'bytes' | 'hex' | 'uint32' | 'fixed32' | 'fixed64'

interface Field {
  readonly name: string
  readonly type: ScalarType | (() => Message)
  readonly list?: true
}

/** Fields by number. Other fields are skipped. */
type Message = Readonly<Record<number, Field>>

const list = (name: string, type: () => Message): Field => ({ name, type, list: true })

const ATTRIBUTES = list('attributes', () => KEY_VALUE)
const ARRAY: Message = { 1: list('values', () => ANY_VALUE) }
const KEY_VALUES: Message = { 1: list('values', () => KEY_VALUE) }
const ANY_VALUE: Message = {
  1: { name: 'stringValue', type: 'string' },
  2: { name: 'boolValue', type: 'bool' },
  3: { name: 'intValue', type: 'int64' },
  4: { name: 'doubleValue', type: 'double' },
  5: { name: 'arrayValue', type: () => ARRAY },
  6: { name: 'kvlistValue', type: () => KEY_VALUES },
  7: { name: 'bytesValue', type: 'bytes' },
}
const KEY_VALUE: Message = { 1: { name: 'key', type: 'string' }, 2: { name: 'value', type: () => ANY_VALUE } }
const RESOURCE: Message = { 1: ATTRIBUTES }
const SCOPE: Message = {
  1: { name: 'name', type: 'string' },
  2: { name: 'version', type: 'string' },
  3: ATTRIBUTES,
}
const LOG_RECORD: Message = {
  1: { name: 'timeUnixNano', type: 'fixed64' },
  2: { name: 'severityNumber', type: 'uint32' },
  3: { name: 'severityText', type: 'string' },
  5: { name: 'body', type: () => ANY_VALUE },
  6: ATTRIBUTES,
  7: { name: 'droppedAttributesCount', type: 'uint32' },
  8: { name: 'flags', type: 'fixed32' },
  9: { name: 'traceId', type: 'hex' },
  10: { name: 'spanId', type: 'hex' },
  11: { name: 'observedTimeUnixNano', type: 'fixed64' },
  12: { name: 'eventName', type: 'string' },
}
const SCOPE_LOGS: Message = { 1: { name: 'scope', type: () => SCOPE }, 2: list('logRecords', () => LOG_RECORD) }
const RESOURCE_LOGS: Message = { 1: { name: 'resource', type: () => RESOURCE }, 2: list('scopeLogs', () => SCOPE_LOGS) }
const REQUEST: Message = { 1: list('resourceLogs', () => RESOURCE_LOGS) }

/** Maximum nesting of messages. A value inside a value counts as two levels. */
const MAX_DEPTH = 100

/** Fields that are read between two pauses. */
const SLICE_FIELDS = 2000

/** A message that is being decoded. */
interface Open {
  readonly reader: Reader
  readonly fields: Message
  readonly found: Record<string, unknown>
}

/** Decodes an ExportLogsServiceRequest, with pauses. Throws MalformedProtobuf. */
export async function decodeRequest(bytes: Uint8Array, pause: Pause): Promise<object> {
  const reader = new Reader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const request: Open = { reader, fields: REQUEST, found: {} }
  const open = [request]
  for (let read = 1; ; read++) {
    if (read % SLICE_FIELDS === 0) await pause()
    const last = open.at(-1)
    if (last === undefined) return request.found
    if (last.reader.ended) {
      open.pop()
      continue
    }
    const inner = readField(last)
    if (inner !== undefined && open.push(inner) > MAX_DEPTH)
      throw new MalformedProtobuf(`more than ${MAX_DEPTH} levels`)
  }
}

/** Reads one field. Returns it if it is a message, which is to be decoded next. */
function readField({ reader, fields, found }: Open): Open | undefined {
  const { number, wire } = reader.tag()
  const field = fields[number]
  if (field === undefined) {
    reader.skip(wire)
    return undefined
  }
  const { name, type } = field
  const inner = typeof type === 'string' ? undefined : { reader: reader.part(wire), fields: type(), found: {} }
  const value = typeof type === 'string' ? scalar(reader, wire, type) : inner!.found
  if (field.list === undefined) found[name] = value
  else {
    const values = (found[name] ??= []) as unknown[]
    values.push(value)
  }
  return inner
}

const WIRE: Readonly<Record<ScalarType, number>> = {
  string: 2,
  bytes: 2,
  hex: 2,
  bool: 0,
  int64: 0,
  uint32: 0,
  double: 1,
  fixed64: 1,
  fixed32: 5,
}

/** Reads a value in its JSON form: 64-bit integers as decimal text. */
function scalar(reader: Reader, wire: number, type: ScalarType): unknown {
  if (wire !== WIRE[type]) throw new MalformedProtobuf('a field has another type')
  switch (type) {
    case 'string':
      return reader.bytes().toString()
    case 'bytes':
      return reader.bytes().toString('base64')
    case 'hex':
      return reader.bytes().toString('hex')
    case 'bool':
      return reader.varint() !== 0n
    case 'int64':
      return BigInt.asIntN(64, reader.varint()).toString()
    case 'uint32':
      return Number(BigInt.asUintN(32, reader.varint()))
    case 'double':
      return reader.fixed(8).readDoubleLE()
    case 'fixed64':
      return reader.fixed(8).readBigUInt64LE().toString()
    case 'fixed32':
      return reader.fixed(4).readUInt32LE()
  }
}

/** Field numbers have 1 to 29 bits and are not 0, the type has 3 more. */
const MIN_TAG = 8
const MAX_TAG = 2 ** 32 - 1

class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length
  }

  tag(): { number: number; wire: number } {
    const tag = Number(this.varint())
    if (tag < MIN_TAG || tag > MAX_TAG) throw new MalformedProtobuf('a field has an invalid number')
    return { number: Math.floor(tag / 8), wire: tag % 8 }
  }

  varint(): bigint {
    let value = 0
    let scale = 1
    for (let digit = 0; digit < 10; digit++) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) throw new MalformedProtobuf('the message ends inside of a number')
      // Exact up to 49 bits. Longer numbers are read again.
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return digit < 7 ? BigInt(value) : this.#long(digit + 1)
      scale *= 128
    }
    throw new MalformedProtobuf('a number has more than 10 bytes')
  }

  #long(length: number): bigint {
    let value = 0n
    for (let at = 1; at <= length; at++) value = (value << 7n) | BigInt(this.#bytes[this.#at - at]! & 0x7f)
    return BigInt.asUintN(64, value)
  }

  fixed(length: number): Buffer {
    if (length > this.#bytes.length - this.#at) throw new MalformedProtobuf('the message ends inside of a field')
    const from = this.#at
    this.#at += length
    return this.#bytes.subarray(from, this.#at)
  }

  bytes(): Buffer {
    return this.fixed(Number(this.varint()))
  }

  part(wire: number): Reader {
    if (wire !== 2) throw new MalformedProtobuf('a field has another type')
    return new Reader(this.bytes())
  }

  skip(wire: number): void {
    if (wire === 0) this.varint()
    else if (wire === 1) this.fixed(8)
    else if (wire === 2) this.bytes()
    else if (wire === 5) this.fixed(4)
    else throw new MalformedProtobuf('a field has an unknown type')
  }
}

/** Encodes an ExportLogsServiceResponse. It is empty if no record is rejected. */
export function encodeResponse(rejected: number, text: string): Uint8Array {
  if (rejected === 0) return new Uint8Array(0)
  const partial = Buffer.concat([Buffer.from([0x08]), varint(rejected), field(2, Buffer.from(text))])
  return field(1, partial)
}

/** Encodes a google.rpc.Status. */
export const encodeStatus = (code: number, text: string): Uint8Array =>
  Buffer.concat([Buffer.from([0x08]), varint(code), field(2, Buffer.from(text))])

const field = (number: number, bytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([number * 8 + 2]), varint(bytes.length), bytes])

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Uint8Array.from([...bytes, Math.floor(value / 128 ** bytes.length)])
}
