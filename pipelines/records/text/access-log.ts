/**
 * Lines of access logs: the common log format, and the combined log format, which is the default of nginx and has two
 * more fields.
 *
 *     192.0.2.1 - ada [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "https://example.com/" "Mozilla/5.0"
 */
import { BACKSLASH, CR, IN_TOKEN, KINDS, MINUS, QUOTE, SPACE, ZERO } from '../../../src/core/bytes.js'
import type { Output } from '../output.js'
import { UnfitRecord } from '../record-check.js'
import { CLF_TIME_LENGTH, RFC_TIME_LENGTH, writeClfTime } from './clf-time.js'
import type { LineFormat } from './line-format.js'
import { memberOf, writeBytes, writeNull, writeText, type Member, type TypeOf } from './members.js'

const COMMON = ['remote_addr', 'remote_user', 'time', 'method', 'target', 'protocol', 'status', 'bytes'] as const
const COMBINED = [...COMMON, 'referer', 'user_agent'] as const

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const CLOSE_BRACE = 0x7d
/** Bytes from the bracket before the time to the quote after it. */
const TIME_PART = CLF_TIME_LENGTH + 3
const MAX_DIGITS = 18

/** Returns the format of an access log. Lines with more fields than the format has do not match. */
export function accessLog(format: 'common' | 'combined', types: TypeOf): LineFormat {
  const [addr, user, time, method, target, protocol, status, size, referer, agent] = (
    format === 'common' ? COMMON : COMBINED
  ).map((name, index) => memberOf(name, types, index === 0)) as Fields
  const memory = new Uint8Array(RFC_TIME_LENGTH)
  return {
    write(bytes, start, given, output) {
      const end = lineEnd(bytes, start, given)
      const addrEnd = tokenEnd(bytes, start, end)
      if (addrEnd === start) throw unfit('remote_addr is missing')
      const identEnd = tokenEnd(bytes, addrEnd + 1, end)
      const request = requestStart(bytes, identEnd, end)
      const timeAt = request - TIME_PART
      writeOrNull(output, addr, bytes, start, addrEnd)
      writeUser(output, user, bytes, identEnd + 1, timeAt - 1)
      writeTime(output, time, bytes, timeAt + 1, memory)
      const requestEnd = quoteEnd(bytes, request, end)
      writeRequest(output, { method, target, protocol }, bytes, request + 1, requestEnd)
      const statusEnd = numberEnd(bytes, requestEnd + 1, end, 'status')
      writeNumber(output, status, bytes, requestEnd + 2, statusEnd)
      const sizeEnd = numberEnd(bytes, statusEnd, end, 'bytes')
      writeNumber(output, size, bytes, statusEnd + 1, sizeEnd)
      let at = sizeEnd
      if (referer !== undefined && agent !== undefined) {
        at = writeQuoted(output, referer, bytes, at, end)
        at = writeQuoted(output, agent, bytes, at, end)
      }
      if (at < end) throw unfit(`the line goes on after the fields of ${format}`)
      output.reserve(1)
      output.bytes[output.length++] = CLOSE_BRACE
    },
  }
}

type Fields = [Member, Member, Member, Member, Member, Member, Member, Member, Member?, Member?]

const unfit = (message: string): UnfitRecord => new UnfitRecord(`${message}; the line is not in the format`)

/** Returns the end of a line without blanks and the carriage return of some writers. */
export function lineEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start && (bytes[at - 1] === CR || bytes[at - 1] === SPACE)) at--
  return at
}

function tokenEnd(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== SPACE) at++
  return at
}

/**
 * Returns the quote before the request. Writers escape quotes in all fields before it, except that Apache writes an
 * empty user as two quotes.
 */
function requestStart(bytes: Uint8Array, from: number, end: number): number {
  let at = nextQuote(bytes, from, end)
  if (bytes[at + 1] === QUOTE && bytes[at + 2] === SPACE && bytes[at + 3] === OPEN_BRACKET)
    at = nextQuote(bytes, at + 3, end)
  const timeAt = at - TIME_PART
  const isTime =
    at < end &&
    timeAt > from + 1 &&
    bytes[timeAt - 1] === SPACE &&
    bytes[timeAt] === OPEN_BRACKET &&
    bytes[at - 2] === CLOSE_BRACKET &&
    bytes[at - 1] === SPACE
  if (!isTime) throw unfit('a time in brackets and a request in quotes are expected')
  return at
}

function nextQuote(bytes: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}

function writeTime(output: Output, member: Member, bytes: Uint8Array, from: number, memory: Uint8Array): void {
  if (!writeClfTime(bytes, from, memory)) throw unfit('the time is not one such as 10/Oct/2000:13:55:36 -0700')
  writeBytes(output, member, memory, 0, RFC_TIME_LENGTH)
}

/** Returns the closing quote. A backslash escapes the byte after it. */
function quoteEnd(bytes: Uint8Array, open: number, end: number): number {
  for (let at = open + 1; at < end; at++) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] === BACKSLASH) at++
  }
  throw unfit('a closing quote is missing')
}

const isDash = (bytes: Uint8Array, from: number, to: number): boolean => to - from === 1 && bytes[from] === MINUS

function writeOrNull(output: Output, member: Member, bytes: Uint8Array, from: number, to: number): void {
  if (isDash(bytes, from, to)) writeNull(output, member)
  else writeBytes(output, member, bytes, from, to, true)
}

function writeUser(output: Output, member: Member, bytes: Uint8Array, from: number, to: number): void {
  if (to - from === 2 && bytes[from] === QUOTE) writeText(output, member, '')
  else if (to > from) writeOrNull(output, member, bytes, from, to)
  else throw unfit('remote_user is missing')
}

/** Writes a quoted field after a blank. Returns its end. */
function writeQuoted(output: Output, member: Member, bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== SPACE || bytes[at + 1] !== QUOTE || at + 1 >= end)
    throw unfit(`${member.name} is missing, in quotes`)
  const close = quoteEnd(bytes, at + 1, end)
  writeOrNull(output, member, bytes, at + 2, close)
  return close + 1
}

interface RequestMembers {
  readonly method: Member
  readonly target: Member
  readonly protocol: Member
}

/** Writes the parts of a request line (RFC 9112, 3). Any other text is the target alone. */
function writeRequest(output: Output, members: RequestMembers, bytes: Uint8Array, from: number, to: number): void {
  const { method, target, protocol } = members
  let at = from
  while (at < to && (KINDS[bytes[at]!]! & IN_TOKEN) !== 0) at++
  const targetEnd = tokenEnd(bytes, at + 1, to)
  const isHttp =
    at > from && bytes[at] === SPACE && targetEnd > at + 1 && targetEnd < to && isProtocol(bytes, targetEnd + 1, to)
  if (isHttp) {
    writeBytes(output, method, bytes, from, at)
    writeBytes(output, target, bytes, at + 1, targetEnd, true)
    writeBytes(output, protocol, bytes, targetEnd + 1, to)
    return
  }
  writeNull(output, method)
  writeOrNull(output, target, bytes, from, to)
  writeNull(output, protocol)
}

const PROTOCOL = Buffer.from('HTTP/')

function isProtocol(bytes: Uint8Array, from: number, to: number): boolean {
  for (let index = 0; index < PROTOCOL.length; index++) if (bytes[from + index] !== PROTOCOL[index]) return false
  const at = from + PROTOCOL.length
  if (!isDigit(bytes[at]) || at >= to) return false
  return at + 1 === to || (at + 3 === to && bytes[at + 1] === 0x2e && isDigit(bytes[at + 2]))
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= 0x39

/** Returns the end of a number after a blank, which may be a dash. */
function numberEnd(bytes: Uint8Array, at: number, end: number, name: string): number {
  const to = tokenEnd(bytes, at + 1, end)
  let digits = at + 1
  while (digits < to && isDigit(bytes[digits])) digits++
  const isNumber = digits === to && to > at + 1 && to - at <= MAX_DIGITS
  if (bytes[at] !== SPACE || at >= end || !(isNumber || isDash(bytes, at + 1, to)))
    throw unfit(`${name} is not a number`)
  return to
}

function writeNumber(output: Output, member: Member, bytes: Uint8Array, from: number, to: number): void {
  if (isDash(bytes, from, to)) return writeNull(output, member)
  if (member.isString || member.type !== undefined) return writeBytes(output, member, bytes, from, to)
  let first = from
  while (first < to - 1 && bytes[first] === ZERO) first++
  output.append(member.key)
  output.reserve(to - first)
  for (let at = first; at < to; at++) output.bytes[output.length++] = bytes[at]!
}
