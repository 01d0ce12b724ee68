import type { RawHeaders } from '../../http/headers.js'
import type { HttpVersion } from '../../rules/types.js'
import type { HttpParseError, RequestHead } from '../client/framing.js'

/** The request fields that the proxy itself uses, and the fields that are forwarded to the origin. */
export class RequestFields {
  /** Without hop-by-hop fields and those that the proxy sets itself. */
  readonly kept: string[] = []
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

  /** Reads the fields in one pass. `trusted`: the scheme that the peer reports is used. */
  constructor(raw: RawHeaders) {
    for (let i = 0; i + 1 < raw.length; i += 2) {
      const name = raw[i]!
      const value = raw[i + 1]!
      if (this.#read(name, value)) this.kept.push(name, value)
    }
    if (this.connection !== '') this.#dropNamed()
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
      case 14:
        return name.toLowerCase() !== 'http2-settings'
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

  /**
   * RFC 9110, 7.6.1: a field that Connection names belongs to this connection only. Connection cannot remove the
   * length.
   */
  #dropNamed(): void {
    if (this.connection === 'keep-alive' || this.connection === 'close') return
    const named = new Set(this.connection.split(',').map((name) => name.trim()))
    named.delete('content-length')
    let to = 0
    for (let from = 0; from < this.kept.length; from += 2) {
      const name = this.kept[from]!
      if (named.has(name.toLowerCase())) continue
      this.kept[to++] = name
      this.kept[to++] = this.kept[from + 1]!
    }
    this.kept.length = to
  }
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
export function originForm(
  { target, method, rawHeaders }: RequestHead,
  fields: RequestFields,
): string | HttpParseError {
  if (target.charCodeAt(0) === 47) return target
  if (target === '*' && method === 'OPTIONS') return target
  const [, authority, rest] = ABSOLUTE.exec(target) ?? []
  if (authority === undefined || rest === undefined) return { status: 400, detail: 'the target is not a path' }
  if (!HOST.test(authority)) return { status: 400, detail: 'the host in the target is not a host name' }
  fields.host = authority
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
export function isLastHop(method: string, { maxForwards, kept }: RequestFields): boolean {
  if (maxForwards === undefined || method !== 'OPTIONS' || !HOPS.test(maxForwards)) return false
  const left = Number(maxForwards) - 1
  for (let i = 0; i + 1 < kept.length; i += 2) {
    if (kept[i]!.toLowerCase() === 'max-forwards') kept[i + 1] = `${left}`
  }
  return left < 0
}
