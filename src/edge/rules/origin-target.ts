import type { OriginTarget } from '../../http/connector.js'
import type { Exchange } from '../exchange.js'
import { withHeader } from '../../http/headers.js'

/** Returns the origin of a request: the zone's, or the one of origin rules. Sets the Host field if a rule does. */
export function originTarget(exchange: Exchange): OriginTarget {
  const { route, zone } = exchange
  const ca = zone.originCa
  if (!route) return { url: zone.origin, ca }
  const { origin, host_header: hostHeader, sni } = route
  if (hostHeader !== undefined) exchange.headers = withHeader(exchange.headers, 'host', hostHeader)
  const own = new URL(zone.origin)
  // The zone's scheme remains. A host such as 1.2.3.4.5 has the form of a name and cannot be one.
  const text = `${own.protocol}//${origin?.host ?? own.hostname}:${origin?.port ?? own.port}`
  if (!URL.canParse(text)) throw Object.assign(new Error(`${origin?.host} is not a host name`), { code: 'ENOTFOUND' })
  const routed = new URL(text)
  const named = routed.hostname !== own.hostname ? 'host' : routed.port !== own.port ? 'port' : undefined
  const serverName = sni?.value ?? hostHeader?.replace(/:\d+$/, '')
  return { url: routed.origin, ca, serverName, named }
}
