import { METHODS } from 'node:http'
import { IN_TARGET, KINDS, trimmed } from '../../core/bytes.js'
import { framingKind, UNSAFE_NAME, UNSAFE_VALUE } from '../../http/framing-fields.js'
import type { FramingLimits, HttpParseError, RequestHead } from './framing.js'

/** A request head, and the bytes of the field section that it was read from. */
export interface Http2Head {
  readonly request: RequestHead
  readonly bytes: number
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
const PSEUDO = 58
/** Bytes between the name and the value of a field, and after it, in HTTP/1.1: limits mean the same in both versions. */
const SEPARATORS = 4

/**
 * Converts the field section of a request (RFC 9113, 8.3.1) to the head of the same request in HTTP/1.1. The bytes of
 * every part are checked again: the origin receives them as text, in which a line feed would begin another request.
 */
export function readHttp2Head(
  raw: readonly string[],
  { header_bytes, header_count, body_bytes }: FramingLimits,
): Http2Head | HttpParseError {
  let [method, path, authority] = ['', '', undefined as string | undefined]
  const fields: string[] = []
  const cookies: string[] = []
  let host: string | undefined
  let length: string | undefined
  let names = ''
  let values = ''
  let bytes = 0
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i]!
    const text = raw[i + 1]!
    const value = trimmed(text, 0, text.length)
    bytes += name.length + text.length + SEPARATORS
    if (name.charCodeAt(0) === PSEUDO) {
      if (name === ':method') method = value
      else if (name === ':path') path = value
      else if (name === ':authority') authority = value
      continue
    }
    names += name
    values += value
    if (name === 'host') {
      if (host !== undefined) return malformed('there are several Host fields')
      host = value
    } else if (name === 'cookie') cookies.push(value)
    else if (name === 'content-length') {
      if (length !== undefined) return malformed('there are several Content-Length fields')
      length = value
      fields.push(name, value)
    } else if (name === 'te' ? value.toLowerCase() !== 'trailers' : isForbidden(name))
      return malformed(`HTTP/2 has no field ${name}`)
    else fields.push(name, value)
  }
  if (bytes > header_bytes) return { status: 431, detail: 'the header fields of the request are too large' }
  if (raw.length / 2 > header_count) return { status: 431, detail: 'the request has too many header fields' }
  if (UNSAFE_NAME.test(names) || /[A-Z]/.test(names)) return malformed('a header name has a character that no name has')
  if (UNSAFE_VALUE.test(values)) return malformed('a header value has a control character')
  if (!KNOWN_METHODS.has(method)) return { status: 501, detail: 'the method is not known' }
  if (!isTarget(path) && method !== 'CONNECT') return malformed('the path has a character that no path has')
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase())
    return malformed(':authority and the Host field name different hosts')
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return malformed('the Content-Length is not a number')
  if (body_bytes > 0 && Number(length ?? 0) > body_bytes)
    return { status: 413, detail: `the request body is larger than ${body_bytes} bytes` }
  // RFC 9113, 8.2.3: HTTP/1.1 allows one Cookie field.
  if (cookies.length > 0) fields.push('cookie', cookies.join('; '))
  const named = authority ?? host
  const rawHeaders = named === undefined ? fields : ['host', named, ...fields]
  return { request: { method, target: path, httpVersion: '2', rawHeaders }, bytes }
}

/** RFC 9113, 8.2.2: fields about a connection make a request malformed. */
const isForbidden = (name: string): boolean =>
  framingKind(name) === 'connection' || name === 'upgrade' || name === 'proxy-connection'

function isTarget(path: string): boolean {
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code > 255 || !(KINDS[code]! & IN_TARGET)) return false
  }
  return path !== ''
}

const malformed = (detail: string): HttpParseError => ({ status: 400, detail })
