import { framingKind, UNSAFE_NAME, UNSAFE_VALUE } from './framing-fields.js'
import { hyphenedName } from './headers.js'
import { NameTable } from './name-table.js'

/** The parts of a request that its head contains. */
export interface RequestParts {
  readonly method: string
  /** Origin form. */
  readonly target: string
  /**
   * Name, value, name, value. Fields about the connection are left out, a length that differs from the body's is
   * rejected.
   */
  readonly headers: readonly string[]
  readonly body: object | null
  readonly upgrade: boolean
  /**
   * The server keeps connections open without being asked to, as HTTP/1.1 requires, and shows all fields to a script.
   */
  readonly bare?: boolean
}

/** The head of a request as it is sent. */
export interface RequestText {
  readonly text: string
  /** Bytes of the body. Undefined if it is sent in chunks. */
  readonly length: number | undefined
}

const UNSAFE_TARGET = /[^\x21-\x7e\x80-\xff]/
/** Methods for which servers expect a body, and so a length even without one (RFC 9110, 8.6). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Returns the head of a request (RFC 9112, 3). Throws a TypeError if a part could be read as something else. */
export function requestText({ method, target, headers, body, upgrade, bare = false }: RequestParts): RequestText {
  // Each line begins with the end of the line before it.
  let text = ''
  let host = ''
  let hasUnderscore = false
  let given: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const value = headers[i + 1]!
    if (UNSAFE_VALUE.test(value)) throw unsafePart()
    const { kind, label } = KINDS.get(headers[i]!)
    switch (kind) {
      case 'host':
        if (host !== '') throw new TypeError('the request has several hosts')
        host = `\r\nhost: ${value}`
        break
      case 'length':
        given = given === undefined ? value : `${given},${value}`
        break
      case 'connection':
        break
      case 'underscore':
        hasUnderscore = true
        break
      default:
        text = text + label + value
    }
  }
  if (hasUnderscore) text += underscoredFields(headers)
  checkRequestLine(method, target)
  if (given !== undefined && (!/^\d{1,15}$/.test(given) || (body === null && Number(given) !== 0)))
    throw new TypeError('the request has another length than its body')
  // Without leading zeros, which some servers read as octal.
  const exact = given === undefined ? undefined : String(Number(given))
  const length = body !== null ? exact : (exact ?? (WITH_BODY.has(method) ? '0' : undefined))
  const connection = upgrade
    ? '\r\nconnection: upgrade\r\nupgrade: websocket'
    : bare
      ? ''
      : '\r\nconnection: keep-alive'
  const framing =
    length !== undefined ? `\r\ncontent-length: ${length}` : body !== null ? '\r\ntransfer-encoding: chunked' : ''
  return {
    // RFC 9110, 7.2: Host comes first.
    text: `${method} ${target} HTTP/1.1${host}${text}${connection}${framing}\r\n\r\n`,
    length: length === undefined ? undefined : Number(length),
  }
}

/** Throws a TypeError if a part of the request line could be read as something else. */
export function checkRequestLine(method: string, target: string): void {
  if (UNSAFE_NAME.test(method) || UNSAFE_TARGET.test(target) || target === '') throw unsafePart()
}

const unsafePart = (): TypeError => new TypeError('the request has a part that is not safe')

/**
 * Returns the lines of fields with an underscore in their name, without fields whose name with hyphens is the name of
 * another field. Origins that read fields as variables (CGI, WSGI, PHP) would take `x_forwarded_for` of a client for
 * the `x-forwarded-for` of this proxy.
 */
function underscoredFields(headers: readonly string[]): string {
  const hyphened = new Set(headers.flatMap((name, i) => (i % 2 === 0 && !name.includes('_') ? name.toLowerCase() : [])))
  let text = ''
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    const { kind, label } = KINDS.get(name)
    if (kind === 'underscore' && !hyphened.has(hyphenedName(name))) text += label + headers[i + 1]!
  }
  return text
}

/** A name of request fields with its kind and the beginning of its line. */
interface FieldName {
  readonly kind: 'host' | 'length' | 'connection' | 'underscore' | 'other'
  readonly label: string
}

const KINDS = new NameTable((name): FieldName => ({ kind: kindOf(name), label: `\r\n${name}: ` }))

function kindOf(name: string): FieldName['kind'] {
  if (UNSAFE_NAME.test(name)) throw unsafePart()
  const lower = name.toLowerCase()
  if (lower === 'host') return 'host'
  if (lower.includes('_')) return framingKind(hyphenedName(lower)) ? 'connection' : 'underscore'
  return lower === 'upgrade' || lower === 'trailer' ? 'connection' : (framingKind(lower) ?? 'other')
}
