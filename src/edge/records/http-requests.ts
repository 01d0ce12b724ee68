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
  const { startedMonotonic } = exchange
  const { firstByteAt } = exchange.sent
  const { askedAt: originAskedAt, sentAt: originSentAt, respondedAt: originAt, peer: originPeer } = exchange.origin
  const { logFields } = exchange.decisions
  const { place, startedAt } = facts
  const { asn, city } = place
  const sent = exchange.sent.headers
  const plain = exchange.scheme === 'http'
  const asked = originAskedAt !== undefined
  const responded = originAt !== undefined
  const ending = matches.findLast(({ ends }) => ends)
  return {
    CacheCacheStatus: statusOf(exchange),
    CacheReserveUsed: exchange.caching.isFromDisk,
    CacheResponseBytes: exchange.caching.bytes || exchange.origin.bytes,
    CacheResponseStatus: exchange.caching.responseStatus || exchange.origin.status,
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
    EdgeResponseBodyBytes: exchange.sent.bodyBytes,
    EdgeResponseBytes: exchange.sent.bytes,
    EdgeResponseContentType: sent && headerText(sent, 'content-type'),
    EdgeResponseStatus: exchange.sent.status,
    EdgeServerIP: originPeer ? originPeer.localAddress : '',
    EdgeStartTimestamp: startedAt,
    EdgeTimeToFirstByteMs: firstByteAt === undefined ? undefined : Math.round(firstByteAt - startedMonotonic),
    OriginIP: originPeer?.address,
    OriginResponseBytes: exchange.origin.bytes,
    OriginResponseDurationMs: asked && responded ? Math.round(originAt - originAskedAt) : undefined,
    OriginResponseHTTPExpires: exchange.origin.headers && headerText(exchange.origin.headers, 'expires'),
    OriginResponseHTTPLastModified: exchange.origin.headers && headerText(exchange.origin.headers, 'last-modified'),
    OriginResponseHeaderReceiveDurationMs:
      originSentAt !== undefined && responded ? Math.round(originAt - originSentAt) : undefined,
    OriginResponseStatus: exchange.origin.status,
    OriginResponseTime: asked && responded ? Math.round((originAt - originAskedAt) * 1e6) : undefined,
    OriginSSLProtocol: originPeer?.protocol,
    ParentRayID: '00',
    PayPerCrawlStatus: exchange.payStatus ?? '',
    RayID: exchange.rayId,
    RequestHeaders: logFields ? texts(logFields.RequestHeaders) : NO_FIELDS,
    ResponseHeaders: logFields ? texts(logFields.ResponseHeaders) : NO_FIELDS,
    SecurityAction: ending?.action ?? '',
    SecurityActions: matches.length > 0 ? matches.map(({ action }) => action) : NOTHING,
    SecurityRuleDescription: ending?.match.description ?? '',
    SecurityRuleID: ending?.match.rule ?? '',
    SecurityRuleIDs: matches.length > 0 ? matches.map(({ match }) => match.rule) : NOTHING,
    SecuritySources: matches.length > 0 ? matches.map(({ source }) => source) : NOTHING,
    VerifiedBotCategory: exchange.agent?.verifiedBotCategory ?? '',
    WAFAttackScore: exchange.decisions.score,
    WorkerSubrequest: false,
    WorkerSubrequestCount: 0,
    ZoneName: exchange.zone.name,
    edged_agent: exchange.agent?.name ?? '',
    edged_agent_action: exchange.agentAction ?? '',
    edged_agent_verified: exchange.agent?.verified ?? '',
  }
}

const statusOf = ({ caching: { status: cacheStatus }, decisions: { cache } }: Exchange): string =>
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
