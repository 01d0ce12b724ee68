import type { RawHeaders } from '../../http/headers.js'
import { fieldsIn } from '../../http/message-reader.js'
import type { HttpVersion } from '../../rules/types.js'
import { trimmed } from '../../core/bytes.js'
import type { HeadLines, HttpParseError, RequestHead } from '../client/framing.js'
import { isPlainLine } from '../exchange/unread/plain-line.js'
import { READ } from './read-names.js'

/** The request fields that the proxy itself uses, and the fields that are forwarded to the origin. */
export class RequestFields {
  /** The lines of `kept`, each after the end of the line before it. Undefined if the list differs from the text. */
  readonly keptLines: string | undefined
  #kept: string[] | undefined
  readonly #request: Pick<RequestHead, 'rawHeaders' | 'lines'>
  host: string | undefined
  /** Fields named Host. */
  hosts = 0
  /** Lower case, joined with commas. */
  connection = ''
  upgrade: string | undefined
  accept: string | undefined
  expect: string | undefined
  via: string | undefined
  maxForwards: string | undefined
  forwardedFor: string | undefined
  userAgent: string | undefined
  /** There is a field Signature-Input. */
  isSigned = false
  forwardedProto: string | undefined
  /** There is a field Content-Length. */
  hasLength = false

  /** Reads the fields in one pass. */
  constructor(request: Pick<RequestHead, 'rawHeaders' | 'lines'>) {
    this.#request = request
    const { lines } = request
    if (lines) this.keptLines = this.#readLines(lines)
    else this.#kept = this.#readList(request.rawHeaders)
  }

  /** The fields without hop-by-hop fields and those that the proxy sets itself. */
  get kept(): string[] {
    if (this.#kept) return this.#kept
    const { keptLines } = this
    this.#kept =
      keptLines === undefined
        ? new RequestFields({ rawHeaders: this.#request.rawHeaders }).kept
        : fieldsIn(keptLines, keptLines === '' ? -1 : LINE_END)
    return this.#kept
  }

  #readList(raw: RawHeaders): string[] {
    const kept: string[] = []
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i]!
      const value = raw[i + 1]!
      if (this.#read(name, value)) kept.push(name, value)
    }
    return namesFields(this.connection) ? withoutNamed(kept, this.connection) : kept
  }

  /** Reads the fields of a head. Returns the lines that are forwarded, or undefined if they cannot be copied as they are. */
  #readLines({ text, marks, first, end }: HeadLines): string | undefined {
    let isSame = true
    let kept = ''
    /** Beginning of the lines that are forwarded together; -1 if there are none. */
    let from = -1
    let underscore = -1
    for (let i = first; i + 2 < end; i += 3) {
      const begin = marks[i]!
      const nameEnd = marks[i + 1]!
      const valueEnd = marks[i + 2]!
      const name = READ.find(text, begin, nameEnd)
      const isKept = name === '' || this.#read(name, trimmed(text, nameEnd + 1, valueEnd))
      if (isKept) {
        if (from < 0) from = begin - LINE_END
        if (underscore < begin) underscore = positionOf('_', text, begin)
        isSame &&= nameEnd <= underscore && isPlainLine(text, nameEnd, valueEnd)
      } else if (from >= 0) {
        kept += text.slice(from, begin - LINE_END)
        from = -1
      }
    }
    if (from >= 0) kept += text.slice(from, marks[end - 1])
    return isSame && !namesFields(this.connection) ? kept : undefined
  }

  /** Returns true if the field is forwarded to the origin unchanged. */
  #read(name: string, value: string): boolean {
    // Most names have a length that none of these has, so most need one comparison and no lower-case copy.
    switch (name.length) {
      case 2:
        return name.toLowerCase() !== 'te'
      case 3:
        if (name.toLowerCase() !== 'via') return true
        this.via = joined(this.via, value)
        return false
      case 4:
        if (name.toLowerCase() !== 'host') return true
        this.host = value
        this.hosts++
        return false
      case 6: {
        const lower = name.toLowerCase()
        if (lower === 'accept') this.accept = joined(this.accept, value)
        else if (lower === 'expect') this.expect = joined(this.expect, value)
        return lower !== 'expect' && lower !== 'cf-ray'
      }
      case 7: {
        const lower = name.toLowerCase()
        if (lower === 'upgrade') this.upgrade = joined(this.upgrade, value)
        return lower !== 'upgrade' && lower !== 'trailer'
      }
      case 10: {
        const lower = name.toLowerCase()
        if (lower === 'user-agent') this.userAgent ??= value
        if (lower === 'connection') this.connection = joined(this.connection || undefined, value.toLowerCase())
        return lower !== 'connection' && lower !== 'keep-alive'
      }
      case 12:
        if (name.toLowerCase() === 'max-forwards') this.maxForwards = value
        return true
      case 14: {
        const lower = name.toLowerCase()
        if (lower === 'content-length') this.hasLength = true
        return lower !== 'http2-settings'
      }
      case 15: {
        const lower = name.toLowerCase()
        if (lower === 'signature-input') this.isSigned = true
        if (lower !== 'x-forwarded-for') return true
        this.forwardedFor = joined(this.forwardedFor, value)
        return false
      }
      case 16: {
        const lower = name.toLowerCase()
        return lower !== 'proxy-connection' && lower !== 'x-forwarded-host' && lower !== 'cf-connecting-ip'
      }
      case 17: {
        const lower = name.toLowerCase()
        if (lower === 'x-forwarded-proto') this.forwardedProto = value.trim().toLowerCase()
        return lower !== 'x-forwarded-proto' && lower !== 'transfer-encoding'
      }
      case 18:
        return name.toLowerCase() !== 'proxy-authenticate'
      case 19:
        return name.toLowerCase() !== 'proxy-authorization'
      default:
        return true
    }
  }
}

const LINE_END = 2

const positionOf = (char: string, text: string, from: number): number => {
  const at = text.indexOf(char, from)
  return at < 0 ? Infinity : at
}

/** Whether Connection names fields. The value is in lower case. */
const namesFields = (connection: string): boolean =>
  connection !== '' && connection !== 'keep-alive' && connection !== 'close'

/**
 * RFC 9110, 7.6.1: a field that Connection names belongs to this connection only. Connection cannot remove the length.
 */
function withoutNamed(fields: string[], connection: string): string[] {
  const named = new Set(connection.split(',').map((name) => name.trim()))
  named.delete('content-length')
  return fields.filter((_, i) => !named.has(fields[i - (i % 2)]!.toLowerCase()))
}

const joined = (known: string | undefined, value: string): string =>
  known === undefined ? value : `${known}, ${value}`

/** Returns whether the client may send another request on its connection (RFC 9112, 9.3). */
export function keepsAlive(httpVersion: HttpVersion, { connection }: RequestFields): boolean {
  if (connection === '') return httpVersion !== '1.0'
  const options = connection.split(',').map((option) => option.trim())
  return !options.includes('close') && (httpVersion === '1.1' || options.includes('keep-alive'))
}

const CONTINUE = /^100-continue$/i

/** Rejects an expectation other than `100-continue`. HTTP/1.0 has none (RFC 9110, 10.1.1). */
export function expectationIssue(httpVersion: HttpVersion, { expect }: RequestFields): HttpParseError | undefined {
  return expect === undefined || httpVersion === '1.0' || CONTINUE.test(expect) ? undefined : { status: 417 }
}

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/
const ABSOLUTE = /^https?:\/\/([^/?]*)(.*)$/i

/** Rejects a request whose host is missing, repeated or invalid. */
export function hostIssue({ host, hosts }: RequestFields): HttpParseError | undefined {
  if (host === undefined) return { status: 400, detail: 'the Host field is missing' }
  if (hosts > 1) return { status: 400, detail: 'there are several Host fields' }
  return HOST.test(host) ? undefined : { status: 400, detail: 'the Host field is not a host name' }
}

/**
 * Returns the target in origin form. `*` is for OPTIONS. The host of an absolute target replaces the value of the Host
 * field (RFC 9112, 3.2.2), in the received fields too. So zone, rules and origin see the same host.
 */
export function originForm(request: RequestHead, fields: RequestFields): string | HttpParseError {
  const { target, method } = request
  if (target.charCodeAt(0) === 47) return target
  if (target === '*' && method === 'OPTIONS') return target
  const [, authority, rest] = ABSOLUTE.exec(target) ?? []
  if (authority === undefined || rest === undefined) return { status: 400, detail: 'the target is not a path' }
  if (!HOST.test(authority)) return { status: 400, detail: 'the host in the target is not a host name' }
  fields.host = authority
  const { rawHeaders } = request
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === 'host') rawHeaders[i + 1] = authority
  }
  if (rest === '' && method === 'OPTIONS') return '*'
  return rest.startsWith('/') ? rest : `/${rest}`
}

const HOPS = /^\d{1,9}$/

/**
 * Counts this hop of an OPTIONS request (RFC 9110, 7.6.2). Returns true if it may not go further. Other methods have no
 * hops to count.
 */
export function isLastHop(method: string, fields: RequestFields): boolean {
  const { maxForwards } = fields
  if (maxForwards === undefined || method !== 'OPTIONS' || !HOPS.test(maxForwards)) return false
  const left = Number(maxForwards) - 1
  const { kept } = fields
  for (let i = 0; i + 1 < kept.length; i += 2) {
    if (kept[i]!.toLowerCase() === 'max-forwards') kept[i + 1] = `${left}`
  }
  return left < 0
}
