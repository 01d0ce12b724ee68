import type { RawHeaders } from '../../http/headers.js'
import { normalHostField } from '../../http/host-field.js'
import type { TrustedFields } from '../../rules/fields/trusted.js'
import { newRayId } from '../../core/ids.js'
import { shareOf, visitorAddress } from '../client/client-address.js'
import type { ClientStream } from '../client/client-stream.js'
import type { RequestHead } from '../client/framing.js'
import { Exchange } from '../exchange/exchange.js'
import type { Served } from '../exchange/zones.js'
import type { ArrivalContext } from './proxy-context.js'
import { ArrivedFields, mayStayUnread, pushOwnFields, viaOf } from './own-fields.js'
import type { RequestFields } from './request-fields.js'

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
  const unread =
    !believed && context.trustedFields.isEmpty && mayStayUnread(method, fields)
      ? new ArrivedFields(request, fields, { host, scheme, address: clientAddress, rayId })
      : undefined
  const lists = unread ? NO_LISTS : listsOf(request, fields, believed ? undefined : context.trustedFields)
  if (lists.headers) {
    const forwarded = forwardedFor ? `${forwardedFor}, ${connection.address}` : connection.address
    const hop = viaOf(request.httpVersion)
    const own = { host, scheme, rayId, forwardedFor: forwarded, via: via ? `${via}, ${hop}` : hop, clientAddress }
    pushOwnFields(lists.headers, own)
  }
  return new Exchange({
    rayId,
    clientAddress,
    // The port of a proxy in front does not describe the client.
    clientPort: clientAddress === connection.address ? connection.port : undefined,
    clientShare: believed && clientAddress === connection.address ? undefined : shareOf(clientAddress),
    scheme,
    served,
    method,
    target,
    httpVersion: request.httpVersion,
    rawHeaders: lists.rawHeaders,
    headers: lists.headers,
    unread,
    local: connection.ends,
    // The connection of a trusted proxy to this one; the client's own connection ended there.
    tls: clientAddress === connection.address ? connection.secure : undefined,
    trustedFields: believed ? context.trustedFields.read(request.rawHeaders) : undefined,
    startedAt: context.clock.now(),
    startedMonotonic: context.clock.monotonic(),
  })
}

interface Lists {
  readonly rawHeaders: RawHeaders | undefined
  readonly headers: string[] | undefined
}

const NO_LISTS: Lists = { rawHeaders: undefined, headers: undefined }

/** Returns the received and the forwarded fields. `untrusted`: without these, which others could forge. */
function listsOf({ rawHeaders }: RequestHead, { kept }: RequestFields, untrusted: TrustedFields | undefined): Lists {
  return untrusted
    ? { rawHeaders: untrusted.strip(rawHeaders), headers: untrusted.strip(kept) }
    : { rawHeaders, headers: kept }
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
