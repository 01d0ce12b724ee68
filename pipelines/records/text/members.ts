/** Writes members of records from text, as JSON. */
import { BACKSLASH, hexDigit, QUOTE } from '../../../src/core/bytes.js'
import type { FieldType } from '../fields/dataset.js'
import type { Output } from '../output.js'
import { UnfitRecord } from '../record-check.js'
import { readInstant } from '../timestamps.js'
import { readClfTime } from './clf-time.js'

/** Types of declared fields by name. Values of other fields are strings. */
export type TypeOf = (name: string) => FieldType | undefined

/** Bytes of a JSON string that are written as they are, with a backslash before them, or in another way. */
const PLAIN = 0
const WITH_BACKSLASH = 1
const CLASSES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE || byte === BACKSLASH) return WITH_BACKSLASH
  return byte < 0x20 || byte > 0x7e ? 2 : PLAIN
})

const NULL = Buffer.from('null')

/** A field of a format, with its declared type and its key as JSON text. */
export interface Member {
  readonly name: string
  readonly key: Uint8Array
  /** Undefined if the value is a string. */
  readonly type: Exclude<FieldType, 'any' | 'string'> | undefined
  /** The values are declared to be strings. */
  readonly isString: boolean
}

/** Returns a field of a format. `first` is true for the first member of the object. */
export function memberOf(name: string, types: TypeOf, first: boolean): Member {
  const type = types(name)
  return {
    name,
    key: Buffer.from(`${first ? '{' : ','}${JSON.stringify(name)}:`),
    type: type === 'any' || type === 'string' ? undefined : type,
    isString: type === 'string',
  }
}

export function writeNull(output: Output, { key }: Member): void {
  output.append(key)
  output.append(NULL)
}

/**
 * Writes a member whose value is the bytes from `from` to `to`. Bytes that are not UTF-8 become U+FFFD. With `escapes`,
 * `\"`, `\\` and `\xHH` are decoded. Throws UnfitRecord if the value does not have the declared type.
 */
export function writeBytes(
  output: Output,
  member: Member,
  bytes: Uint8Array,
  from: number,
  to: number,
  escapes = false,
): void {
  output.append(member.key)
  if (member.type !== undefined) return output.append(typedJson(member, textOf(bytes, from, to, escapes)))
  output.reserve(2 * (to - from) + 2)
  const target = output.bytes
  let at = output.length
  target[at++] = QUOTE
  for (let index = from; index < to; index++) {
    const byte = bytes[index]!
    const kind = CLASSES[byte]!
    if (kind !== PLAIN) {
      if (kind !== WITH_BACKSLASH || (escapes && byte === BACKSLASH))
        return output.append(Buffer.from(JSON.stringify(textOf(bytes, from, to, escapes))))
      target[at++] = BACKSLASH
    }
    target[at++] = byte
  }
  target[at++] = QUOTE
  output.length = at
}

/** Writes a member whose value is a text. */
export function writeText(output: Output, member: Member, text: string): void {
  output.append(member.key)
  if (member.type !== undefined) return output.append(typedJson(member, text))
  output.reserve(2 * text.length + 2)
  const target = output.bytes
  let at = output.length
  target[at++] = QUOTE
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    const kind = code > 0x7e ? 2 : CLASSES[code]!
    if (kind !== PLAIN) {
      if (kind !== WITH_BACKSLASH) return output.append(Buffer.from(JSON.stringify(text)))
      target[at++] = BACKSLASH
    }
    target[at++] = code
  }
  target[at++] = QUOTE
  output.length = at
}

/** Returns the text of bytes. */
export function textOf(bytes: Uint8Array, from: number, to: number, escapes: boolean): string {
  const part = bytes.subarray(from, to)
  const decoded = escapes && part.includes(BACKSLASH) ? unescaped(part) : part
  return Buffer.from(decoded.buffer, decoded.byteOffset, decoded.length).toString()
}

function unescaped(bytes: Uint8Array): Uint8Array {
  const decoded = new Uint8Array(bytes.length)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const next = byte === BACKSLASH ? bytes[at + 1] : undefined
    if (next === QUOTE || next === BACKSLASH) {
      decoded[length++] = next
      at++
    } else if (next === LETTER_X && isHex(bytes[at + 2]) && isHex(bytes[at + 3])) {
      decoded[length++] = hexDigit(bytes[at + 2]!) * 16 + hexDigit(bytes[at + 3]!)
      at += 3
    } else decoded[length++] = byte
  }
  return decoded.subarray(0, length)
}

const LETTER_X = 0x78

const isHex = (byte: number | undefined): boolean => byte !== undefined && hexDigit(byte) >= 0

const NUMBER = /^[+-]?(\d+)(\.\d+)?([eE][+-]?\d+)?$/
const WORDS: Readonly<Record<string, string>> = { true: 'true', false: 'false', '1': 'true', '0': 'false' }

/** Returns the JSON text of a value of a declared type. An empty text and `-` are null. */
function typedJson(member: Member, text: string): Uint8Array {
  if (text === '' || text === '-') return NULL
  const found = typed(member.type, text)
  if (found !== undefined) return Buffer.from(found)
  throw new UnfitRecord(`${member.name} must be ${ASKED[member.type!]}`)
}

function typed(type: Member['type'], text: string): string | undefined {
  switch (type) {
    case 'int':
    case 'float':
      return numberJson(text, type === 'int')
    case 'bool':
      return WORDS[text.toLowerCase()]
    case 'timestamp':
      return timeJson(text)
    case undefined:
      return JSON.stringify(text)
    default:
      return nestedJson(text, type === 'object')
  }
}

const ASKED: Readonly<Record<NonNullable<Member['type']>, string>> = {
  int: 'a whole number',
  float: 'a number',
  bool: 'true or false',
  timestamp: 'a time, as a number, RFC 3339 or day/month/year text',
  object: 'a JSON object',
  'array[string]': 'a JSON list',
  'array[int]': 'a JSON list',
  'array[object]': 'a JSON list',
}

/** Returns a number in the grammar of JSON, with all of its digits. */
function numberJson(text: string, whole: boolean): string | undefined {
  const [, digits, fraction = '', exponent = ''] = NUMBER.exec(text) ?? []
  if (digits === undefined || (whole && fraction + exponent !== '')) return undefined
  const sign = text.startsWith('-') ? '-' : ''
  return sign + digits.replace(/^0+(?=\d)/, '') + fraction + exponent
}

const INSTANT = { seconds: 0, nanos: 0 }

function timeJson(text: string): string | undefined {
  const time = readClfTime(text)
  const value = time === undefined ? (numberJson(text, false) ?? JSON.stringify(text)) : JSON.stringify(time)
  const bytes = Buffer.from(value)
  return readInstant(bytes, 0, bytes.length, INSTANT) ? value : undefined
}

/** Returns JSON text of an object or list, without the line breaks that it may have. */
function nestedJson(text: string, isObject: boolean): string | undefined {
  const from = text.trimStart()
  if (!from.startsWith(isObject ? '{' : '[')) return undefined
  try {
    JSON.parse(from)
  } catch {
    return undefined
  }
  return from.replaceAll(/[\r\n\t]/g, ' ')
}
