import type { Exchange } from '../exchange.js'
import { withHeader } from '../../http/headers.js'

/** Where a request goes: base URL of the origin and, for TLS, the name that its certificate has to have. */
export interface Destination {
  readonly url: string
  /** Undefined: the host of the URL. */
  readonly serverName: string | undefined
}

/** The origin of a request: the zone's, or where origin rules send it. Sets its Host field where they say so. */
export function originTarget(exchange: Exchange): Destination {
  const { route, zone } = exchange
  if (!route) return { url: zone.origin, serverName: undefined }
  const { origin, host_header: hostHeader, sni } = route
  if (hostHeader !== undefined) exchange.headers = withHeader(exchange.headers, 'host', hostHeader)
  // The zone's scheme stays, so that it is http or https whatever a rule says.
  const { protocol, hostname, port } = new URL(zone.origin)
  const host = origin?.host ?? hostname
  const routedPort = origin?.port ?? port
  return {
    url: `${protocol}//${host}${routedPort === '' ? '' : `:${routedPort}`}`,
    serverName: sni?.value ?? hostHeader?.replace(/:\d+$/, ''),
  }
}
