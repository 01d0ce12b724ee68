import { toText } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange.js'

/** The facts about one request that an access log shows. Strings are latin1, as they were received. */
export interface AccessEntry {
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly rayId: string
  readonly clientAddress: string
  readonly status: number
  /** Bytes of the response body. */
  readonly bytes: number
  readonly durationMs: number
  /** Undefined if the request could not be read. */
  readonly request:
    | {
        readonly method: string
        readonly target: string
        readonly httpVersion: string
        readonly rawHeaders: RawHeaders
      }
    | undefined
  /** Undefined if no zone serves the request. */
  readonly served?: {
    readonly zone: string
    readonly host: string
    readonly scheme: string
    /** URL of the origin that responded; undefined if none did. */
    readonly origin: string | undefined
    readonly originStatus: number
    readonly originMs: number | undefined
  }
}

/** Returns one line in ASCII, with its line feed. */
export type AccessFormat = (entry: AccessEntry) => string

/** The formats of access logs, by their names in the configuration. */
export const ACCESS_FORMATS = { json: jsonLine, combined: combinedLine } satisfies Record<string, AccessFormat>

/** Logs finished requests. Off until `target` is set. */
export class AccessLog {
  target: { readonly format: AccessFormat; readonly write: (line: string) => void; readonly sample: number } | undefined

  /** Must be called once per request that a zone served. */
  finished(exchange: Exchange, endedMonotonic: number): void {
    if (!this.#isChosen(exchange.status)) return
    const { originAskedAt, originAt } = exchange
    this.#write({
      startedAt: exchange.startedAt,
      rayId: exchange.rayId,
      clientAddress: exchange.clientAddress,
      status: exchange.status,
      bytes: exchange.bytes,
      durationMs: endedMonotonic - exchange.startedMonotonic,
      request: {
        method: exchange.method,
        target: exchange.rawTarget,
        httpVersion: exchange.httpVersion,
        rawHeaders: exchange.rawHeaders,
      },
      served: {
        zone: exchange.zone.id,
        host: exchange.host,
        scheme: exchange.scheme,
        origin: originAskedAt === undefined ? undefined : exchange.originUrl,
        originStatus: exchange.originStatus,
        originMs: originAskedAt === undefined || originAt === undefined ? undefined : originAt - originAskedAt,
      },
    })
  }

  /** Logs a request that was rejected before its zone was known. */
  rejected(entry: Omit<AccessEntry, 'served' | 'bytes' | 'durationMs'>): void {
    if (this.#isChosen(entry.status)) this.#write({ ...entry, bytes: 0, durationMs: 0 })
  }

  #isChosen(status: number): boolean {
    if (!this.target) return false
    const { sample } = this.target
    return sample === 1 || status >= 500 || Math.random() < sample
  }

  #write(entry: AccessEntry): void {
    this.target?.write(this.target.format(entry))
  }
}

/**
 * One JSON object. `event` distinguishes it from log lines on the same standard output. Concatenated by hand, of few
 * pieces: an object for `JSON.stringify` takes five times as long, a noticeable share of a request.
 */
function jsonLine(entry: AccessEntry): string {
  const { request, served } = entry
  let line = `${jsonBegin(entry.startedAt)}${entry.rayId}`
  if (served)
    line += `","zone":"${served.zone}","client":"${entry.clientAddress}","scheme":"${served.scheme}","host":"${quotable(served.host)}`
  else {
    line += `","client":"${entry.clientAddress}`
    const host = request && headerOf(request.rawHeaders, 'host')
    if (host !== undefined) line += `","host":"${quotable(host)}`
  }
  if (request)
    line += `","method":"${quotable(request.method)}","uri":"${quotable(request.target)}","protocol":"HTTP/${request.httpVersion}`
  line += `","status":${entry.status},"bytes":${entry.bytes},"duration_ms":${tenths(entry.durationMs)}`
  if (request) {
    const referer = headerOf(request.rawHeaders, 'referer')
    const agent = headerOf(request.rawHeaders, 'user-agent')
    if (referer !== undefined) line += `,"referer":"${quotable(referer)}"`
    if (agent !== undefined) line += `,"user_agent":"${quotable(agent)}"`
  }
  if (!served) return `${line}}\n`
  if (served.origin !== undefined) line += `,"origin":"${quotable(served.origin)}"`
  if (served.originStatus !== 0) line += `,"origin_status":${served.originStatus}`
  return served.originMs === undefined ? `${line}}\n` : `${line},"origin_ms":${tenths(served.originMs)}}\n`
}

/** Characters that JSON can hold as they are. */
const PLAIN = /^[ !#-[\]-~]*$/
const NOT_ASCII = /[\u007f-\uffff]/g

/** Returns the inside of a JSON string, in ASCII, for text that is one character per byte. */
const quotable = (text: string): string => (PLAIN.test(text) ? text : escaped(text))

const escaped = (text: string): string =>
  JSON.stringify(toText(text))
    .slice(1, -1)
    .replaceAll(NOT_ASCII, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Texts of durations below a second, by tenths of a millisecond. */
const TENTHS: string[] = Array.from({ length: 10_000 }, (_, tenth) => String(tenth / 10))

/** Returns a number of milliseconds with at most one decimal. */
function tenths(ms: number): string {
  const all = Math.round(ms * 10)
  return TENTHS[all] ?? String(all / 10)
}

let lastSecond = NaN
let lastText = ''
const MILLISECONDS = Array.from(
  { length: 1000 },
  (_, ms) => `${String(ms).padStart(3, '0')}Z","event":"request","ray":"`,
)

/** Returns the line up to the ray. The part before the milliseconds is the same for all requests of a second. */
function jsonBegin(at: number): string {
  const second = Math.floor(at / 1000)
  if (second !== lastSecond) {
    lastText = `{"time":"${new Date(second * 1000).toISOString().slice(0, 20)}`
    lastSecond = second
  }
  return lastText + MILLISECONDS[Math.floor(at - second * 1000)]!
}

/** The combined format of Apache and nginx. Times are in UTC. */
function combinedLine(entry: AccessEntry): string {
  const { request } = entry
  const line = request ? quoted(`${request.method} ${request.target} HTTP/${request.httpVersion}`) : '"-"'
  const referer = quoted((request && headerOf(request.rawHeaders, 'referer')) ?? '-')
  const agent = quoted((request && headerOf(request.rawHeaders, 'user-agent')) ?? '-')
  return `${entry.clientAddress} - - [${apacheTime(entry.startedAt)}] ${line} ${entry.status} ${entry.bytes} ${referer} ${agent}\n`
}

// oxlint-disable-next-line no-control-regex
const UNQUOTABLE = /["\\\x00-\x1f\x7f-\uffff]/g

/** Returns a text in quotation marks; bytes that could end it or the line are written as `\xHH`, as nginx does. */
function quoted(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  const safe = text.replaceAll(
    UNQUOTABLE,
    (char) => `\\x${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return `"${safe}"`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

let lastApacheSecond = NaN
let lastApacheText = ''

/** Returns a time as in `21/Nov/2026:10:00:00 +0000`. */
function apacheTime(at: number): string {
  const second = Math.floor(at / 1000)
  if (second === lastApacheSecond) return lastApacheText
  const text = new Date(second * 1000).toISOString()
  lastApacheSecond = second
  lastApacheText = `${text.slice(8, 10)}/${MONTHS[Number(text.slice(5, 7)) - 1]}/${text.slice(0, 4)}:${text.slice(11, 19)} +0000`
  return lastApacheText
}
