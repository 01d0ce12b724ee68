import { normalHostField } from '../../http/host-field.js'
import { newRayId } from '../../core/ids.js'
import { shareOf, visitorAddress } from '../client/client-address.js'
import type { ClientStream } from '../client/client-stream.js'
import type { RequestHead } from '../client/framing.js'
import { Exchange } from '../exchange/exchange.js'
import type { Served } from '../exchange/zones.js'
import type { ArrivalContext } from './proxy-context.js'
import type { RequestFields } from './request-fields.js'

/** Name of this proxy in `via`. */
export const VIA_NAME = 'edged'

/** Creates the exchange of a request whose zone is known: its client, its scheme and the fields for the origin. */
export function arrivedExchange(
  request: RequestHead,
  connection: ClientStream,
  fields: RequestFields,
  { method, target, served, context }: { method: string; target: string; served: Served; context: ArrivalContext },
): Exchange {
  const rayId = newRayId()
  const believed = context.trusted(connection.address)
  const clientAddress = visitorAddress(connection.address, fields.forwardedFor, context.trusted)
  const scheme = schemeOf(connection, believed ? fields.forwardedProto : undefined)
  const host = normalHostField(fields.host ?? '', scheme)
  const { via, forwardedFor } = fields
  if (!believed && !context.forwardedReported && forwardedFor !== undefined)
    reportForwarded(connection.address, context)
  // Fields that only trusted proxies may set; others could forge them.
  const headers = believed ? fields.kept : context.trustedFields.strip(fields.kept)
  const rawHeaders = believed ? request.rawHeaders : context.trustedFields.strip(request.rawHeaders)
  headers.push('host', host)
  headers.push('x-forwarded-for', forwardedFor ? `${forwardedFor}, ${connection.address}` : connection.address)
  headers.push('x-forwarded-proto', scheme, 'x-forwarded-host', host)
  headers.push('via', via ? `${via}, ${request.httpVersion} ${VIA_NAME}` : `${request.httpVersion} ${VIA_NAME}`)
  headers.push('cf-ray', rayId, 'cf-connecting-ip', clientAddress)
  return new Exchange({
    rayId,
    clientAddress,
    // The port of a proxy in front does not describe the client.
    clientPort: clientAddress === connection.address ? connection.ends.remotePort : undefined,
    clientShare: believed && clientAddress === connection.address ? undefined : shareOf(clientAddress),
    scheme,
    served,
    method,
    target,
    httpVersion: request.httpVersion,
    rawHeaders,
    headers,
    local: connection.ends,
    // The connection of a trusted proxy to this one; the client's own connection ended there.
    tls: clientAddress === connection.address ? connection.secure : undefined,
    trustedFields: believed ? context.trustedFields.read(rawHeaders) : undefined,
    startedAt: context.clock.now(),
    startedMonotonic: context.clock.monotonic(),
  })
}

/** Warns once that a peer sets a field which only trusted proxies may set: the operator may have forgotten to list it. */
function reportForwarded(peer: string, context: ArrivalContext): void {
  context.forwardedReported = true
  context.log.warn(
    { event: 'forwarded_ignored', peer },
    `X-Forwarded-For from ${peer} is not believed; if this is your own proxy, add ${peer} to proxy.trusted_proxies (shown once)`,
  )
}

/** Returns the client's scheme, as a trusted proxy reports it or else as the connection has it. */
function schemeOf({ secure }: ClientStream, forwarded: string | undefined): 'http' | 'https' {
  if (forwarded === 'https' || forwarded === 'http') return forwarded
  return secure ? 'https' : 'http'
}
