import type { LogRecord } from '../../core/emit.js'
import type { Exchange } from '../exchange/exchange.js'
import type { RequestSummary } from './request-summary.js'
import type { SecurityMatch } from './security.js'

/** Scheme, host, path and query of an absolute URL. */
const PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/i

/** Returns one `firewall_events` record per match of a security rule. The last one has index 0. */
export function firewallEvents(
  { method, scheme, host, rayId, sent: { status }, origin: { status: originStatus } }: Exchange,
  facts: RequestSummary,
  matches: readonly SecurityMatch[],
): LogRecord[] {
  const { clientIp, country, place, path, query, protocol, userAgent, startedAt } = facts
  const [, refererScheme = '', refererHost = '', refererPath = '', refererQuery = ''] = PARTS.exec(facts.referer) ?? []
  return matches.map(({ match, action, source }, at) => ({
    Action: action.toLowerCase(),
    ClientASN: place.asn?.autonomous_system_number,
    ClientASNDescription: place.asn?.autonomous_system_organization,
    ClientCountry: country,
    ClientIP: clientIp,
    ClientRefererHost: refererHost,
    ClientRefererPath: refererPath,
    ClientRefererQuery: refererQuery,
    ClientRefererScheme: refererScheme,
    ClientRequestHost: host,
    ClientRequestMethod: method,
    ClientRequestPath: path,
    ClientRequestProtocol: protocol,
    ClientRequestQuery: query,
    ClientRequestScheme: scheme,
    ClientRequestUserAgent: userAgent,
    Datetime: startedAt,
    Description: match.description,
    EdgeResponseStatus: status,
    Kind: 'firewall',
    MatchIndex: matches.length - 1 - at,
    Metadata: { phase: match.phase, ruleset_id: match.ruleset },
    OriginResponseStatus: originStatus,
    OriginatorRayID: '00',
    RayID: rayId,
    Ref: match.ref,
    RuleID: match.rule,
    Source: source.toLowerCase(),
  }))
}
