import { toText } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'

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
  readonly served?: Served
}

interface Served {
  readonly zone: string
  readonly host: string
  readonly scheme: string
  /** URL of the origin that responded. Undefined if none did. */
  readonly origin: string | undefined
  readonly originStatus: number
  readonly originMs: number | undefined
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
    if (!this.#isChosen(exchange.sent.status)) return
    const { askedAt: originAskedAt, respondedAt: originAt } = exchange.origin
    this.#write({
      startedAt: exchange.startedAt,
      rayId: exchange.rayId,
      clientAddress: exchange.clientAddress,
      status: exchange.sent.status,
      bytes: exchange.sent.bodyBytes,
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
        origin: originAskedAt === undefined ? undefined : exchange.origin.url,
        originStatus: exchange.origin.status,
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
 * pieces: an object for `JSON.stringify` takes ten times as long, a noticeable share of a request.
 */
function jsonLine({
  startedAt,
  rayId,
  clientAddress,
  status,
  bytes,
  durationMs,
  request,
  served,
}: AccessEntry): string {
  const begin = jsonBegin(startedAt) + rayId
  if (!request || !served) {
    const host = request && headerOf(request.rawHeaders, 'host')
    const named = host === undefined ? '' : `","host":"${quotable(host)}`
    const asked = request ? `","method":"${quotable(request.method)}","uri":"${quotable(request.target)}` : ''
    const version = request && `","protocol":"HTTP/${request.httpVersion}`
    const about = request ? refererPart(request.rawHeaders) + agentPart(headerOf(request.rawHeaders, 'user-agent')) : ''
    return `${begin}","client":"${clientAddress}${named}${asked}${version ?? ''}","status":${status},"bytes":${bytes}${durationText(durationMs)}${about}}\n`
  }
  const { httpVersion, rawHeaders } = request
  return `${begin}${placePart(clientAddress, request.method, served)}${quotable(request.target)}${statusPart(httpVersion, status)}${bytes}${durationText(durationMs)}${refererPart(rawHeaders)}${sourcePart(rawHeaders, served)}${served.originMs === undefined ? '}\n' : originTimeText(served.originMs)}`
}

/** Slots of a table of parts. What does not fit replaces another part. */
const SLOTS = 256
/** Maximum length of a part that is retained. */
const MAX_STORED = 1024

/** A part of lines with the values that it was made from. Requests of one connection share most values. */
interface Place {
  readonly zone: string
  readonly client: string
  readonly scheme: string
  readonly host: string
  readonly method: string
  /** In one piece from the second request on; undefined before, since many clients send only one. */
  text: string | undefined
}
const places: (Place | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

/** Returns the part from the zone up to the target. */
function placePart(client: string, method: string, { zone, scheme, host }: Served): string {
  const end = client.length - 1
  // Zero for the address of a unix socket, which is empty.
  const place = client.charCodeAt(end) * 31 + client.charCodeAt(end - 1) * 7 || 0
  const slot = (place + host.length + method.length) % SLOTS
  const known = places[slot]
  const isKnown =
    known !== undefined &&
    known.zone === zone &&
    known.client === client &&
    known.host === host &&
    known.method === method &&
    known.scheme === scheme
  if (isKnown && known.text !== undefined) return known.text
  const text = `","zone":"${zone}","client":"${client}","scheme":"${scheme}","host":"${quotable(host)}","method":"${quotable(method)}","uri":"`
  if (isKnown) known.text = flat(text)
  else if (text.length <= MAX_STORED) places[slot] = { zone, client, scheme, host, method, text: undefined }
  return text
}

interface Source {
  readonly agent: string | undefined
  readonly origin: string | undefined
  readonly originStatus: number
  text: string | undefined
}
const sources: (Source | undefined)[] = Array.from({ length: SLOTS }, () => undefined)

/** Returns the part about the client's program and the origin. */
function sourcePart(rawHeaders: RawHeaders, { origin, originStatus }: Served): string {
  const agent = headerOf(rawHeaders, 'user-agent')
  const slot = ((agent?.length ?? 0) * 31 + (origin?.length ?? 0) * 7 + originStatus) % SLOTS
  const known = sources[slot]
  const isKnown =
    known !== undefined && known.agent === agent && known.origin === origin && known.originStatus === originStatus
  if (isKnown && known.text !== undefined) return known.text
  const named = origin === undefined ? '' : `,"origin":"${quotable(origin)}"`
  const responded = originStatus === 0 ? '' : `,"origin_status":${originStatus}`
  const text = agentPart(agent) + named + responded
  if (isKnown) known.text = flat(text)
  else if (text.length <= MAX_STORED) sources[slot] = { agent, origin, originStatus, text: undefined }
  return text
}

/** Returns a text in one piece: one of many is put together again for each line that it is part of. */
const flat = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

let lastVersion = ''
let lastStatus = 0
let lastStatusPart = ''

/** Returns the part from the protocol up to the number of bytes. */
function statusPart(httpVersion: string, status: number): string {
  if (status !== lastStatus || httpVersion !== lastVersion) {
    lastStatusPart = flat(`","protocol":"HTTP/${httpVersion}","status":${status},"bytes":`)
    lastVersion = httpVersion
    lastStatus = status
  }
  return lastStatusPart
}

function refererPart(rawHeaders: RawHeaders): string {
  const referer = headerOf(rawHeaders, 'referer')
  return referer === undefined ? '' : `,"referer":"${quotable(referer)}"`
}

function agentPart(agent: string | undefined): string {
  return agent === undefined ? '' : `,"user_agent":"${quotable(agent)}"`
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

/** Tenths of a millisecond in a second: durations below have a text of their own. */
const TENTHS = 10_000

/** Returns the function that writes a number of milliseconds, with at most one decimal, between two texts. */
function durationPart(before: string, after: string): (ms: number) => string {
  const texts: (string | undefined)[] = Array.from({ length: TENTHS }, () => undefined)
  const textOf = (tenths: number): string => `${before}${tenths / 10}${after}`
  return (ms) => {
    const tenths = Math.round(ms * 10)
    if (!(tenths >= 0 && tenths < TENTHS)) return textOf(tenths)
    return (texts[tenths] ??= flat(textOf(tenths)))
  }
}
const durationText = durationPart(',"duration_ms":', '')
const originTimeText = durationPart(',"origin_ms":', '}\n')

let lastSecond = NaN
let lastText = ''
let lastBeginAt = NaN
let lastBegin = ''

/** Returns the line up to the ray, which is the same for all requests of a millisecond. */
function jsonBegin(at: number): string {
  const ms = Math.floor(at)
  if (ms === lastBeginAt) return lastBegin
  const second = Math.floor(ms / 1000)
  if (second !== lastSecond) {
    lastText = `{"time":"${new Date(second * 1000).toISOString().slice(0, 20)}`
    lastSecond = second
  }
  lastBeginAt = ms
  lastBegin = flat(`${lastText}${String(ms - second * 1000).padStart(3, '0')}Z","event":"request","ray":"`)
  return lastBegin
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
