import { DOT, MINUS } from '../../src/core/bytes.js'

/** Values of `timestamp_format`. The first two are integers, the others strings in UTC with `Z`. */
export const TIMESTAMP_FORMATS = ['unixnano', 'unix', 'rfc3339', 'rfc3339ms', 'rfc3339ns'] as const
export type TimestampFormat = (typeof TIMESTAMP_FORMATS)[number]

/** A point in time, in whole seconds since 1970, rounded down, and 0 to 999,999,999 nanoseconds more. */
export interface Instant {
  seconds: number
  nanos: number
}

/** No timestamp needs more bytes. */
export const TIMESTAMP_BYTES = 32

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= 0x30 && byte <= 0x39

/**
 * Reads a point in time from JSON text. It is an integer of seconds, milliseconds, microseconds or nanoseconds,
 * distinguished by its digits (up to 11, 14, 17, 20), also with a fraction or in quotes, or RFC 3339 text. False for
 * anything else.
 */
export function readInstant(bytes: Uint8Array, start: number, end: number, into: Instant): boolean {
  if (bytes[start] !== 0x22) return readNumber(bytes, start, end, into)
  const isText = isDigit(bytes[start + 1]) && bytes[start + 5] === MINUS
  return isText ? readText(bytes, start + 1, end - 1, into) : readNumber(bytes, start + 1, end - 1, into)
}

function readNumber(bytes: Uint8Array, start: number, end: number, into: Instant): boolean {
  return (end - start === 19 && readNanos(bytes, start, into)) || readAnyNumber(bytes, start, end, into)
}

/** Reads 19 digits, which most timestamps have, in one pass. False for anything else. */
function readNanos(bytes: Uint8Array, start: number, into: Instant): boolean {
  let seconds = 0
  let nanos = 0
  for (let at = start; at < start + 10; at++) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) return false
    seconds = seconds * 10 + digit
  }
  for (let at = start + 10; at < start + 19; at++) {
    const digit = bytes[at]! - 0x30
    if (digit < 0 || digit > 9) return false
    nanos = (nanos * 10 + digit) | 0
  }
  into.seconds = seconds
  into.nanos = nanos
  return true
}

function readAnyNumber(bytes: Uint8Array, start: number, end: number, into: Instant): boolean {
  const negative = bytes[start] === MINUS
  const from = negative ? start + 1 : start
  let point = from
  while (point < end && isDigit(bytes[point])) point++
  const digits = point - from
  if (digits === 0 || digits > 20) return false
  const scale = digits <= 11 ? 0 : digits <= 14 ? 3 : digits <= 17 ? 6 : 9
  let seconds = 0
  for (let at = from; at < point - scale; at++) seconds = seconds * 10 + bytes[at]! - 0x30
  let nanos = 0
  let filled = 0
  for (let at = point - scale; at < point; at++, filled++) nanos = nanos * 10 + bytes[at]! - 0x30
  if (point < end) {
    if (bytes[point] !== DOT || point + 1 === end) return false
    for (let at = point + 1; at < end; at++) {
      if (!isDigit(bytes[at])) return false
      if (filled++ < 9) nanos = nanos * 10 + bytes[at]! - 0x30
    }
  }
  for (; filled < 9; filled++) nanos *= 10
  into.seconds = negative ? -seconds - (nanos > 0 ? 1 : 0) : seconds
  into.nanos = negative && nanos > 0 ? 1e9 - nanos : nanos
  return true
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const MAX_CHUNK_BYTES = 64

function readText(bytes: Uint8Array, start: number, end: number, into: Instant): boolean {
  if (end - start > MAX_CHUNK_BYTES) return false
  const match = RFC3339.exec(String.fromCharCode(...bytes.subarray(start, end)))
  if (match === null) return false
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const [, , , , , , , fraction = '', sign, zoneHours = '0', zoneMinutes = '0'] = match
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false
  // A second of 60 is a leap second (RFC 3339, 5.6). It counts as the first second after it.
  if (hour > 23 || minute > 59 || second > 60 || Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return false
  const ahead = (Number(zoneHours) * 60 + Number(zoneMinutes)) * (sign === '-' ? -60 : 60)
  into.seconds = daysBefore(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - ahead
  into.nanos = Number(fraction.slice(0, 9).padEnd(9, '0'))
  return true
}

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const daysIn = (year: number, month: number) =>
  month === 2 ? (isLeap(year) ? 29 : 28) : month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31

/** Returns days from 1970-01-01. Years begin in March here, so that the leap day is a year's last. */
function daysBefore(year: number, month: number, day: number): number {
  const y = month > 2 ? year : year - 1
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

/** 0000-01-01 and 9999-12-31, the days that RFC 3339 can write. */
const FIRST = -62_167_219_200
const LAST = 253_402_300_799

/**
 * Writes JSON text, truncated and never rounded. Returns its end. Returns -1 for a time that the format cannot write,
 * which is one before year 0 or after year 9999 in RFC 3339.
 */
export function writeInstant(
  { seconds, nanos }: Instant,
  format: TimestampFormat,
  out: Uint8Array,
  at: number,
): number {
  if (format === 'unix') return writeInteger(seconds, out, at)
  if (format === 'unixnano') return writeNanos(seconds, nanos, out, at)
  if (seconds < FIRST || seconds > LAST) return -1
  if (seconds !== lastSeconds) rememberSeconds(seconds)
  // A loop: `set` takes three times as long for so few bytes.
  for (let i = 0; i < lastText.length; i++) out[at + i] = lastText[i]!
  let to = at + lastText.length
  if (format !== 'rfc3339') {
    out[to++] = DOT
    to = format === 'rfc3339ms' ? writePadded(Math.floor(nanos / 1e6), 3, out, to) : writePadded(nanos, 9, out, to)
  }
  out[to] = 0x5a
  out[to + 1] = 0x22
  return to + 2
}

// Nearby records are of the same second, or at least of the same minute, so its text is cached.
let lastSeconds = NaN
let lastMinutes = NaN
const lastText = new Uint8Array('"2006-01-02T15:04:05'.length)

function rememberSeconds(seconds: number): void {
  const minutes = Math.floor(seconds / 60)
  if (minutes !== lastMinutes) {
    const text = `"${new Date(minutes * 60_000).toISOString().slice(0, 17)}`
    for (let i = 0; i < text.length; i++) lastText[i] = text.charCodeAt(i)
    lastMinutes = minutes
  }
  writePadded(seconds - minutes * 60, 2, lastText, lastText.length - 2)
  lastSeconds = seconds
}

function writeNanos(seconds: number, nanos: number, out: Uint8Array, at: number): number {
  if (seconds === 0) return writeInteger(nanos, out, at)
  if (seconds > 0) return writePadded(nanos, 9, out, writeInteger(seconds, out, at))
  const text = String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos))
  for (let i = 0; i < text.length; i++) out[at + i] = text.charCodeAt(i)
  return at + text.length
}

function writeInteger(number: number, out: Uint8Array, at: number): number {
  if (number < 0) {
    out[at] = MINUS
    return writeInteger(-number, out, at + 1)
  }
  let width = 1
  for (let limit = 10; number >= limit; limit *= 10) width++
  return writePadded(number, width, out, at)
}

function writePadded(number: number, width: number, out: Uint8Array, at: number): number {
  let rest = number
  for (let i = at + width - 1; i >= at; i--) {
    const next = Math.floor(rest / 10)
    out[i] = 0x30 + rest - next * 10
    rest = next
  }
  return at + width
}
