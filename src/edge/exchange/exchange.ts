import type { Value } from '../../expr/index.js'
import type { ClientCertificate } from '../../core/client-certificate.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { OriginPeer } from '../../http/origin-connection.js'
import type { RawHeaders } from '../../http/headers.js'
import type { Run } from '../../rules/engine/run.js'
import type { CacheSettings, CompressionParams, LogFields, RouteParams, Settings } from '../../rules/decisions.js'
import type {
  ClientTls,
  BodyHead,
  EdgeError,
  ExchangeResponse,
  HttpVersion,
  LocalEnd,
  RuleExchange,
  RuleMatch,
} from '../../rules/types.js'
import type { CachedResponse, CacheStatus } from '../cache/entries/types.js'
import { aliasOf, type Alias } from './markdown-addresses.js'
import { normalTarget } from './normal-path.js'
import type { ExchangeTrace } from '../../telemetry/tracer.js'
import type { CustomHostname, Served, Zone } from './zones.js'

/** TLS facts of a request's connection. */
type ArrivalTls = ClientTls & Pick<SecureConnection, 'serverName' | 'client'>

/** Facts about a request after it was read and its zone found. */
export interface Arrival {
  readonly rayId: string
  readonly clientAddress: string
  /** Undefined if a proxy in front of this one ended the client's connection, so that the port is not known. */
  readonly clientPort?: number | undefined
  /** Undefined if the client is not counted. */
  readonly clientShare?: string | undefined
  readonly scheme: 'http' | 'https'
  readonly served: Served
  readonly method: string
  readonly target: string
  readonly httpVersion: HttpVersion
  readonly rawHeaders: RawHeaders
  readonly headers: string[]
  readonly local: LocalEnd
  readonly tls: ArrivalTls | undefined
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  readonly startedAt: number
  readonly startedMonotonic: number
}

const MAX_MATCHES = 256

/** One request and all decisions about it. */
export class Exchange implements RuleExchange {
  /** 16 hexadecimal digits, in `cf-ray` of the response and in every log line. */
  readonly rayId: string
  /** The client's address. This is the peer's address, or the address that trusted proxies report. */
  readonly clientAddress: string
  readonly clientPort: number | undefined
  /** Key that the client's use of shared resources is counted under. Undefined for a trusted proxy itself. */
  readonly clientShare: string | undefined
  /** The scheme that the client used. */
  readonly scheme: 'http' | 'https'
  readonly zone: Zone
  /** The requested host in lower case, without port. */
  readonly host: string
  readonly custom: CustomHostname | undefined
  readonly method: string
  /** Origin form, path and query exactly as sent; `*` for a server-wide OPTIONS. */
  readonly rawTarget: string
  /** The same after normalization and rewrites by rules. */
  target: string
  readonly httpVersion: HttpVersion
  /** The fields as the client sent them. */
  readonly rawHeaders: RawHeaders
  /** The same after rewrites by rules. Expressions read this list. Rules replace the list, they never change it. */
  clientHeaders: RawHeaders
  /** The fields for the origin. They may change until the request is sent. */
  headers: string[]
  /** The listener that received the request. */
  readonly local: LocalEnd
  readonly tls: ArrivalTls | undefined
  /** Fields of the rules language that a trusted proxy reported, by name. */
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  /** Undefined if no rule needs the body or the request has none. */
  body: BodyHead | undefined
  /** Undefined before the response begins. Replaced when rules change it. */
  response: ExchangeResponse | undefined
  /** Undefined if the response is the origin's. */
  edgeError: EdgeError | undefined
  /** The sum of score rules. Undefined before the first. */
  score: number | undefined
  /** Undefined if the zone has no rules. */
  run: Run | undefined
  /** Result of origin rules. Undefined if the zone's origin is used. */
  route: RouteParams | undefined
  /** Result of cache rules. */
  cache: CacheSettings | undefined
  /** Undefined if the response is the proxy's own or the zone has no cache. */
  cacheStatus: CacheStatus | undefined
  /** The rules that judge responses before they are stored have run for the response. */
  hasRunCacheRules = false
  /** Undefined if the response is not in the cache, or rules replaced it. */
  cached: CachedResponse | undefined
  /** Bytes of the body that the cache sent, before later stages changed it. */
  cachedBytes = 0
  /** Status that the cache responded with; 0 if the response is not from the cache. */
  cachedStatus = 0
  /** The cache read the response from its disk tier. */
  isFromDisk = false
  /** Algorithms in the order of a compression rule. Undefined if the response is not changed. */
  compression: CompressionParams | undefined
  /** Header fields and cookies for the log record of the request. */
  logFields: LogFields | undefined
  /** Rules that acted on the request, in order; limited to the first ones. */
  readonly matches: RuleMatch[] = []
  /** Active for this request. Rules replace the object, they never change it. */
  settings: Settings
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** Undefined if the request is not traced. */
  trace: ExchangeTrace | undefined
  /** On the clock's `monotonic` scale. */
  readonly startedMonotonic: number
  /** When the first byte of the response was written, on the same scale. Undefined before that. */
  firstByteAt: number | undefined
  /** When a connection to the origin was first requested, on the same scale. Undefined if none was. */
  originAskedAt: number | undefined
  /** URL of the origin that the request was last meant for. Undefined if none was chosen. */
  originUrl: string | undefined
  /** The connection that the request was sent on. Undefined if it was not sent. */
  originPeer: OriginPeer | undefined
  /** The response's fields as the origin sent them, and as the client got them. Undefined before that. */
  originHeaders: RawHeaders | undefined
  sentHeaders: RawHeaders | undefined
  /** When the request was sent to the origin, on the same scale. Undefined if it was not. */
  originSentAt: number | undefined
  /** When the response's head arrived from the origin, on the same scale. Undefined before that, or without a head. */
  originAt: number | undefined
  /** Status that the client got; 0 before that, 499 if it left without one. */
  status = 0
  /** Status of the origin's own response; 0 without one. */
  originStatus = 0
  /** Bytes of the body as the origin sent them. */
  originBytes = 0
  /** Bytes of the body as sent to the client. */
  bytes = 0
  /** Bytes of the whole response as sent to the client: head, body and chunk framing. Set at its end. */
  sentBytes = 0
  /** The requested address, if the edge adds this address to the site. Known after `settle`. */
  alias: Alias | undefined
  #isSettled = false
  /** The normalized target, if the origin gets the original one. */
  readonly #incoming: string | undefined
  #isRestored = false

  constructor(arrival: Arrival) {
    const { zone, host, custom } = arrival.served
    this.rayId = arrival.rayId
    this.clientAddress = arrival.clientAddress
    this.clientPort = arrival.clientPort
    this.clientShare = arrival.clientShare
    this.scheme = arrival.scheme
    this.zone = zone
    this.host = host
    this.custom = custom
    this.method = arrival.method
    this.rawTarget = arrival.target
    const { normalization } = zone
    this.target = normalization ? normalTarget(arrival.target, normalization) : arrival.target
    this.#incoming = normalization?.scope === 'incoming' ? this.target : undefined
    this.httpVersion = arrival.httpVersion
    this.rawHeaders = arrival.rawHeaders
    this.clientHeaders = arrival.rawHeaders
    this.headers = arrival.headers
    this.local = arrival.local
    this.tls = arrival.tls
    this.trustedFields = arrival.trustedFields
    if (custom) this.route = customRoute(custom, zone, host)
    this.settings =
      custom && zone.customHostnames === 'all' ? { ...zone.settings, content_converter: true } : zone.settings
    this.startedAt = arrival.startedAt
    this.startedMonotonic = arrival.startedMonotonic
  }

  /** Restores the path as it was sent, if it was normalized for rules only and no rule rewrote it. */
  restoreTarget(): void {
    if (this.target !== this.#incoming) return
    this.target = this.rawTarget
    this.#isRestored = true
  }

  get mayBeCached(): boolean {
    return (this.method === 'GET' || this.method === 'HEAD') && this.zone.cache.mode !== 'off'
  }

  get seenTarget(): string {
    return (this.#isRestored ? this.#incoming : undefined) ?? this.target
  }

  /** Whether the client was asked for a certificate of this zone's authority. */
  get asksForCertificate(): boolean {
    const { clientAuthority } = this.zone
    return clientAuthority !== undefined && this.tls?.client?.authority.id === clientAuthority.id
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.asksForCertificate ? this.tls?.client?.certificate : undefined
  }

  settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    if (!this.settings.content_converter || (this.method !== 'GET' && this.method !== 'HEAD')) return false
    this.alias = aliasOf(this)
    if (this.alias === undefined) return false
    this.target = this.alias.target
    return true
  }

  /** Records that a rule acted on the request. */
  matched(match: RuleMatch): void {
    if (this.matches.length < MAX_MATCHES) this.matches.push(match)
  }
}

/** Returns the origin of requests for a custom hostname, or undefined for the zone's origin. Origin rules can change it. */
function customRoute(custom: CustomHostname, zone: Zone, host: string): RouteParams | undefined {
  const server = custom.originServer ?? zone.fallbackOrigin
  if (server === undefined) return undefined
  const { originSni: sni } = custom
  return {
    origin: { host: server },
    ...(sni !== undefined && { sni: { value: sni === ':request_host_header:' ? host : sni } }),
  }
}
