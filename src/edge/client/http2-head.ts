import { METHODS } from 'node:http'
import { IN_TARGET, KINDS, trimmed } from '../../core/bytes.js'
import { framingKind, UNSAFE_NAME, UNSAFE_VALUE } from '../../http/framing-fields.js'
import { NameTable } from '../../http/name-table.js'
import { normalHostField } from '../../http/host-field.js'
import type { FramingLimits, HttpParseError, RequestHead } from './framing.js'

/** A request head, and the bytes of the field section that it was read from. */
export interface Http2Head {
  readonly request: RequestHead
  readonly bytes: number
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
const PSEUDO = 58
/**
 * Bytes between the name and the value of a field, and after it, in HTTP/1.1. With them limits mean the same in both
 * versions.
 */
const SEPARATORS = 4

/**
 * Converts the field section of a request (RFC 9113, 8.3.1) to the head of the same request in HTTP/1.1. The bytes of
 * every part are checked again, because the origin receives them as text, in which a line feed would begin another
 * request.
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
  let isUnsafe = false
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
    values += value
    switch (KINDS_OF_FIELDS.get(name)) {
      case 'host':
        if (host !== undefined) return malformed('there are several Host fields')
        host = value
        break
      case 'cookie':
        cookies.push(value)
        break
      case 'length':
        if (length !== undefined) return malformed('there are several Content-Length fields')
        length = value
        fields.push(name, value)
        break
      case 'te':
        if (value.toLowerCase() !== 'trailers') return malformed(noField(name))
        fields.push(name, value)
        break
      case 'forbidden':
        return malformed(noField(name))
      case 'unsafe':
        isUnsafe = true
        break
      case 'other':
        fields.push(name, value)
    }
  }
  if (path.length >= header_bytes) return { status: 414, detail: 'the target is too long' }
  if (bytes > header_bytes) return { status: 431, detail: 'the header fields of the request are too large' }
  if (raw.length / 2 > header_count) return { status: 431, detail: 'the request has too many header fields' }
  if (isUnsafe) return malformed('a header name has a character that is not allowed')
  if (UNSAFE_VALUE.test(values)) return malformed('a header value has a control character')
  if (!KNOWN_METHODS.has(method)) return { status: 501, detail: 'the method is not known' }
  if (!isTarget(path) && method !== 'CONNECT') return malformed('the path has a character that no path has')
  if (authority !== undefined && host !== undefined && !isSameHost(authority, host))
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

/** How fields of a request are read, by their names. */
const KINDS_OF_FIELDS = new NameTable((name) => {
  if (name === 'host' || name === 'cookie' || name === 'te') return name
  if (name === 'content-length') return 'length'
  // Fields about a connection make a request malformed (RFC 9113, 8.2.2).
  if (framingKind(name) === 'connection' || name === 'upgrade' || name === 'proxy-connection') return 'forbidden'
  return name === '' || UNSAFE_NAME.test(name) || /[A-Z]/.test(name) ? 'unsafe' : 'other'
})

/** Compares by value, because one host can be spelt in several ways (RFC 9113, 8.3.1, and RFC 9110, 4.2.3). */
const isSameHost = (authority: string, host: string): boolean =>
  authority === host || normalHostField(authority, 'https') === normalHostField(host, 'https')

const noField = (name: string): string => `HTTP/2 has no field ${name}`

function isTarget(path: string): boolean {
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i)
    if (code > 255 || !(KINDS[code]! & IN_TARGET)) return false
  }
  return path !== ''
}

const malformed = (detail: string): HttpParseError => ({ status: 400, detail })
