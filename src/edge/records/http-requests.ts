import type { LogRecord } from '../../core/emit.js'
import { toText } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { LogFields } from '../../rules/decisions.js'
import type { Exchange } from '../exchange/exchange.js'
import type { RequestSummary } from './request-summary.js'
import type { SecurityMatch } from './security.js'

/** Facts about the client's connection at the end of a request. */
export interface ExchangeTimes {
  /** Bytes of the request that were read. */
  readonly received: number
  /** Port of the client. Undefined if another proxy is in front. */
  readonly port: number | undefined
  /** On the clock's `monotonic` scale. */
  readonly endedMonotonic: number
}

const NOTHING: readonly string[] = []
const NO_FIELDS = {}

/** Returns the `http_requests` record of a finished request: every field that the proxy knows, without the others. */
export function httpRequest(
  exchange: Exchange,
  facts: RequestSummary,
  matches: readonly SecurityMatch[],
  passage: ExchangeTimes,
): LogRecord {
  const { startedMonotonic, firstByteAt, originAskedAt, originSentAt, originAt, originPeer, logFields } = exchange
  const { place, startedAt } = facts
  const { asn, city } = place
  const sent = exchange.sentHeaders
  const plain = exchange.scheme === 'http'
  const asked = originAskedAt !== undefined
  const responded = originAt !== undefined
  const ending = matches.findLast(({ ends }) => ends)
  return {
    CacheCacheStatus: statusOf(exchange),
    CacheReserveUsed: exchange.isFromDisk,
    CacheResponseBytes: exchange.cachedBytes || exchange.originBytes,
    CacheResponseStatus: exchange.cachedStatus || exchange.originStatus,
    CacheTieredFill: false,
    ClientASN: asn?.autonomous_system_number,
    ClientCity: city?.city?.names?.en,
    ClientCountry: facts.country,
    ClientIP: facts.clientIp,
    ClientLatitude: textOf(city?.location?.latitude),
    ClientLongitude: textOf(city?.location?.longitude),
    ClientMTLSAuthCertFingerprint: exchange.clientCertificate?.texts.fingerprint_sha256 ?? '',
    ClientMTLSAuthStatus: exchange.asksForCertificate ? (exchange.clientCertificate?.status ?? 'absent') : 'unknown',
    ClientRegionCode: city?.subdivisions?.[0]?.iso_code,
    ClientRequestBytes: passage.received,
    ClientRequestHost: exchange.host,
    ClientRequestMethod: exchange.method,
    ClientRequestPath: facts.path,
    ClientRequestProtocol: facts.protocol,
    ClientRequestReferer: facts.referer,
    ClientRequestScheme: exchange.scheme,
    ClientRequestSource: 'eyeball',
    ClientRequestURI: facts.uri,
    ClientRequestUserAgent: facts.userAgent,
    // Unknown if TLS ended at a proxy before this one.
    ClientSSLCipher: plain ? 'NONE' : exchange.tls?.cipher,
    ClientSSLProtocol: plain ? 'none' : exchange.tls?.version,
    ClientSrcPort: passage.port,
    ClientXRequestedWith: facts.requestedWith,
    Cookies: logFields ? texts(logFields.Cookies) : NO_FIELDS,
    EdgeCFConnectingO2O: false,
    EdgeEndTimestamp: startedAt + nanoseconds(passage.endedMonotonic - startedMonotonic),
    EdgeRequestHost: asked ? headerText(exchange.headers, 'host') : undefined,
    EdgeResponseBodyBytes: exchange.bytes,
    EdgeResponseBytes: exchange.sentBytes,
    EdgeResponseContentType: sent && headerText(sent, 'content-type'),
    EdgeResponseStatus: exchange.status,
    EdgeServerIP: originPeer ? originPeer.localAddress : '',
    EdgeStartTimestamp: startedAt,
    EdgeTimeToFirstByteMs: firstByteAt === undefined ? undefined : Math.round(firstByteAt - startedMonotonic),
    OriginIP: originPeer?.address,
    OriginResponseBytes: exchange.originBytes,
    OriginResponseDurationMs: asked && responded ? Math.round(originAt - originAskedAt) : undefined,
    OriginResponseHTTPExpires: exchange.originHeaders && headerText(exchange.originHeaders, 'expires'),
    OriginResponseHTTPLastModified: exchange.originHeaders && headerText(exchange.originHeaders, 'last-modified'),
    OriginResponseHeaderReceiveDurationMs:
      originSentAt !== undefined && responded ? Math.round(originAt - originSentAt) : undefined,
    OriginResponseStatus: exchange.originStatus,
    OriginResponseTime: asked && responded ? Math.round((originAt - originAskedAt) * 1e6) : undefined,
    OriginSSLProtocol: originPeer?.protocol,
    ParentRayID: '00',
    RayID: exchange.rayId,
    RequestHeaders: logFields ? texts(logFields.RequestHeaders) : NO_FIELDS,
    ResponseHeaders: logFields ? texts(logFields.ResponseHeaders) : NO_FIELDS,
    SecurityAction: ending?.action ?? '',
    SecurityActions: matches.length > 0 ? matches.map(({ action }) => action) : NOTHING,
    SecurityRuleDescription: ending?.match.description ?? '',
    SecurityRuleID: ending?.match.rule ?? '',
    SecurityRuleIDs: matches.length > 0 ? matches.map(({ match }) => match.rule) : NOTHING,
    SecuritySources: matches.length > 0 ? matches.map(({ source }) => source) : NOTHING,
    WAFAttackScore: exchange.score,
    WorkerSubrequest: false,
    WorkerSubrequestCount: 0,
    ZoneName: exchange.zone.name,
  }
}

const statusOf = ({ cacheStatus, cache }: Exchange): string =>
  cacheStatus?.toLowerCase() ?? (cache?.cache === false ? 'bypass' : 'dynamic')

const textOf = (value: number | undefined): string | undefined => (value === undefined ? undefined : String(value))

const nanoseconds = (ms: number): bigint => BigInt(Math.round(ms * 1e6))

const headerText = (headers: RawHeaders, name: string): string => toText(headerOf(headers, name) ?? '')

/** Decodes header fields and cookies as text; their bytes are usually UTF-8. */
function texts(fields: LogFields[keyof LogFields]): Record<string, string | string[]> {
  // Without a prototype: the rule defines the names.
  const read = Object.create(null) as Record<string, string | string[]>
  for (const [name, value] of Object.entries(fields))
    read[name] = typeof value === 'string' ? toText(value) : value.map(toText)
  return read
}
