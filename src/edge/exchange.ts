import type { Value } from '../expr/index.js'
import type { OriginPeer } from '../http/origin-connection.js'
import type { RawHeaders } from '../http/headers.js'
import type { Run } from '../rules/engine/run.js'
import type {
  ClientTls,
  BodyHead,
  CacheSettings,
  CompressionParams,
  EdgeError,
  ExchangeResponse,
  LocalEnd,
  LogFields,
  RouteParams,
  RuleExchange,
  RuleMatch,
  Settings,
} from '../rules/types.js'
import type { CustomHostname, Served, Zone } from './zones.js'

/** What is known of a request when it has been read and its zone found. */
export interface Arrival {
  readonly rayId: string
  readonly clientAddress: string
  /** Undefined: the client is not counted. */
  readonly clientShare?: string | undefined
  readonly scheme: 'http' | 'https'
  readonly served: Served
  readonly method: string
  readonly target: string
  readonly httpVersion: '1.0' | '1.1'
  readonly rawHeaders: RawHeaders
  readonly headers: string[]
  readonly local: LocalEnd
  readonly tls: ClientTls | undefined
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  readonly startedAt: number
  readonly startedMonotonic: number
}

const MAX_MATCHES = 256

/** One request and all that was decided about it. */
export class Exchange implements RuleExchange {
  /** 16 hexadecimal digits; in the answer's `cf-ray` and in every log line. */
  readonly rayId: string
  /** The visitor's address: the peer's, or what trusted proxies say it is. */
  readonly clientAddress: string
  /** Under which the client's use of what is shared is counted; undefined for a trusted proxy itself. */
  readonly clientShare: string | undefined
  /** As the visitor used it. */
  readonly scheme: 'http' | 'https'
  readonly zone: Zone
  /** The host asked for: lower case, without port. */
  readonly host: string
  readonly custom: CustomHostname | undefined
  readonly method: string
  /** Origin form, path and query exactly as sent; `*` for a server-wide OPTIONS. */
  readonly rawTarget: string
  /** The same as rules have rewritten it: what the origin is asked for. */
  target: string
  readonly httpVersion: '1.0' | '1.1'
  /** The fields as the client sent them. */
  readonly rawHeaders: RawHeaders
  /** The same as rules have rewritten them: what expressions read. Rules replace the list, they never change it. */
  clientHeaders: RawHeaders
  /** The fields as the origin gets them; open to changes until the request goes out. */
  headers: string[]
  /** Where the request arrived. */
  readonly local: LocalEnd
  readonly tls: ClientTls | undefined
  /** Fields of the rules language that a trusted proxy has told, by name. */
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  /** Undefined where no rule needs it, or there is none. */
  body: BodyHead | undefined
  /** Undefined before there is one. Replaced when rules change it. */
  response: ExchangeResponse | undefined
  /** Undefined where the answer is the origin's. */
  edgeError: EdgeError | undefined
  /** What score rules have added up; undefined before the first. */
  score: number | undefined
  /** Undefined where the zone has no rules. */
  run: Run | undefined
  /** What origin rules say; undefined: the zone's origin. */
  route: RouteParams | undefined
  /** What cache rules say. */
  cache: CacheSettings | undefined
  /** Algorithms in the order of a compression rule; undefined: the answer stays as it is. */
  compression: CompressionParams | undefined
  /** Header fields and cookies for the log record of the request. */
  logFields: LogFields | undefined
  /** Rules that acted on the request, in order; of very many the first. */
  readonly matches: RuleMatch[] = []
  /** In force for this request. Rules replace the object, they never change it. */
  settings: Settings
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** On the clock's `monotonic` scale. */
  readonly startedMonotonic: number
  /** When the first byte of the answer was written, on the same scale; undefined before. */
  firstByteAt: number | undefined
  /** When a way to the origin was first looked for, on the same scale; undefined where none was. */
  originAskedAt: number | undefined
  /** The connection that the request went out on; undefined where it did not. */
  originPeer: OriginPeer | undefined
  /** The answer's fields as the origin sent them, and as they went to the client; undefined before. */
  originHeaders: RawHeaders | undefined
  sentHeaders: RawHeaders | undefined
  /** When the request went to the origin, on the same scale; undefined where it did not. */
  originSentAt: number | undefined
  /** When the answer's head came from the origin, on the same scale; undefined before, or where there was none. */
  originAt: number | undefined
  /** Status that the client got; 0 before that, 499 when it left without one. */
  status = 0
  /** Status of the origin's own answer; 0 without one. */
  originStatus = 0
  /** Bytes of the body as the origin sent them. */
  originBytes = 0
  /** Bytes of the body as sent to the client. */
  bytes = 0
  /** Bytes of the whole answer as sent to the client: head, body and what tells its parts. Set at its end. */
  sentBytes = 0

  constructor(arrival: Arrival) {
    const { zone, host, custom } = arrival.served
    this.rayId = arrival.rayId
    this.clientAddress = arrival.clientAddress
    this.clientShare = arrival.clientShare
    this.scheme = arrival.scheme
    this.zone = zone
    this.host = host
    this.custom = custom
    this.method = arrival.method
    this.rawTarget = arrival.target
    this.target = arrival.target
    this.httpVersion = arrival.httpVersion
    this.rawHeaders = arrival.rawHeaders
    this.clientHeaders = arrival.rawHeaders
    this.headers = arrival.headers
    this.local = arrival.local
    this.tls = arrival.tls
    this.trustedFields = arrival.trustedFields
    this.settings =
      custom && zone.customHostnames === 'all' && zone.plan !== 'free'
        ? { ...zone.settings, content_converter: true }
        : zone.settings
    this.startedAt = arrival.startedAt
    this.startedMonotonic = arrival.startedMonotonic
  }

  /** A rule acted on the request. */
  matched(match: RuleMatch): void {
    if (this.matches.length < MAX_MATCHES) this.matches.push(match)
  }
}
