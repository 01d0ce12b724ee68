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

/** Returns one line, with its line feed. */
export type AccessFormat = (entry: AccessEntry) => string

/** The formats of access logs, by their names in the configuration. */
export const ACCESS_FORMATS = { json: jsonLine, combined: combinedLine } satisfies Record<string, AccessFormat>

/** Logs finished requests. Off until `target` is set. */
export class AccessLog {
  target: { readonly format: AccessFormat; readonly write: (line: string) => void } | undefined

  /** Must be called once per request that a zone served. */
  finished(exchange: Exchange, endedMonotonic: number): void {
    if (!this.target) return
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
    if (this.target) this.#write({ ...entry, bytes: 0, durationMs: 0 })
  }

  #write(entry: AccessEntry): void {
    this.target?.write(this.target.format(entry))
  }
}

/** One JSON object. `event` distinguishes it from log lines on the same standard output. */
function jsonLine({ request, served, ...entry }: AccessEntry): string {
  const value = {
    time: new Date(entry.startedAt).toISOString(),
    event: 'request',
    ray: entry.rayId,
    zone: served?.zone,
    client: entry.clientAddress,
    scheme: served?.scheme,
    host: served?.host ?? (request && textOf(request.rawHeaders, 'host')),
    method: request?.method,
    uri: request && toText(request.target),
    protocol: request && `HTTP/${request.httpVersion}`,
    status: entry.status,
    bytes: entry.bytes,
    duration_ms: tenths(entry.durationMs),
    referer: request && textOf(request.rawHeaders, 'referer'),
    user_agent: request && textOf(request.rawHeaders, 'user-agent'),
    origin: served?.origin,
    origin_status: served?.originStatus || undefined,
    origin_ms: served?.originMs === undefined ? undefined : tenths(served.originMs),
  }
  return `${JSON.stringify(value)}\n`
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10

function textOf(headers: RawHeaders, name: string): string | undefined {
  const value = headerOf(headers, name)
  return value === undefined ? undefined : toText(value)
}

/** The combined format of Apache and nginx. Times are in UTC. */
function combinedLine({ request, ...entry }: AccessEntry): string {
  const line = request ? quoted(`${request.method} ${request.target} HTTP/${request.httpVersion}`) : '"-"'
  const referer = quoted((request && headerOf(request.rawHeaders, 'referer')) ?? '-')
  const agent = quoted((request && headerOf(request.rawHeaders, 'user-agent')) ?? '-')
  return `${entry.clientAddress} - - [${apacheTime(entry.startedAt)}] ${line} ${entry.status} ${entry.bytes} ${referer} ${agent}\n`
}

// oxlint-disable-next-line no-control-regex
const UNQUOTABLE = /["\\\x00-\x1f\x7f-\uffff]/g

/** Returns a text in quotation marks; bytes that could end it or the line are written as `\xHH`, as nginx does. */
function quoted(text: string): string {
  const safe = text.replaceAll(
    UNQUOTABLE,
    (char) => `\\x${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return `"${safe}"`
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Returns a time as in `21/Nov/2026:10:00:00 +0000`. */
function apacheTime(at: number): string {
  const text = new Date(at).toISOString()
  return `${text.slice(8, 10)}/${MONTHS[Number(text.slice(5, 7)) - 1]}/${text.slice(0, 4)}:${text.slice(11, 19)} +0000`
}
