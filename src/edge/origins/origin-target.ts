import type { Settings } from '../../rules/decisions.js'
import type { OriginTarget } from '../../http/connector.js'
import type { Exchange } from '../exchange/exchange.js'
import { balancersOf } from '../exchange/zones.js'
import { withHeader } from '../../http/headers.js'
import { NoOrigin } from '../../http/origin-errors.js'

/**
 * Returns where a request is sent: to `own`, an origin of the zone, or where origin rules send it. Sets the Host field
 * if a rule does.
 */
export function originTarget(exchange: Exchange, own: string): OriginTarget {
  return withSsl(routedTarget(exchange, own), exchange.decisions.settings.ssl)
}

/** The origin of a zone without one: its rules name the host. */
const NONE = { protocol: 'http:', hostname: '', port: '' }

function routedTarget(exchange: Exchange, own: string): OriginTarget {
  const { zone } = exchange
  const { route } = exchange.decisions
  const ca = zone.originCa
  if (own === '' && route?.origin?.host === undefined) throw new NoOrigin(zone.name)
  if (!route) return { url: own, ca, named: zone.hasNamedOrigin }
  const { origin, host_header: hostHeader, sni } = route
  if (hostHeader !== undefined) exchange.headers = withHeader(exchange.headers, 'host', hostHeader)
  const serverName = sni?.value ?? hostHeader?.replace(/:\d+$/, '')
  if (own.startsWith('unix:') && origin?.host === undefined) return { url: own, ca, serverName }
  const { protocol, hostname, port } = own === '' ? NONE : new URL(own)
  // The zone's scheme remains. A host such as 1.2.3.4.5 has the form of a name and cannot be one.
  const scheme = protocol === 'https:' ? protocol : 'http:'
  const text = `${scheme}//${origin?.host ?? hostname}:${origin?.port ?? port}`
  if (!URL.canParse(text)) throw Object.assign(new Error(`${origin?.host} is not a host name`), { code: 'ENOTFOUND' })
  const routed = new URL(text)
  const named = isConfigured(routed, zone) ? undefined : true
  return { url: routed.origin, ca, serverName, named }
}

/** Returns whether the configuration gives the zone an origin at this host and port. */
function isConfigured({ hostname, port }: URL, { balancer, places, hasNamedOrigin }: Exchange['zone']): boolean {
  if (hasNamedOrigin) return false
  return balancersOf({ balancer, places }).some(({ peers }) =>
    peers.some(({ url }) => {
      if (!URL.canParse(url)) return false
      const origin = new URL(url)
      return origin.hostname === hostname && origin.port === port
    }),
  )
}

/**
 * Returns the target with the TLS that the setting `ssl` asks for. A port in the URL of the origin stays. Without a
 * port, the default port of the scheme is used. Without the setting the URL decides.
 */
export function withSsl(target: OriginTarget, ssl: Settings['ssl']): OriginTarget {
  if (ssl === undefined || target.url.startsWith('unix:')) return target
  const secure = ssl !== 'off' && ssl !== 'flexible'
  const url = target.url.replace(/^https?:/, secure ? 'https:' : 'http:')
  return ssl === 'full' ? { ...target, url, unverified: true } : { ...target, url }
}
