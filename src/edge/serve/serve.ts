import { normalHostField } from '../../http/host-field.js'
import { newRayId } from '../../core/ids.js'
import { shareOf, visitorAddress } from '../client/client-address.js'
import { respondToSolution } from './challenge-endpoint.js'
import { ClientResponse } from './client-response.js'
import type { ClientStream } from '../client/client-stream.js'
import { Exchange } from '../exchange/exchange.js'
import { httpsAddress } from '../exchange/https-settings.js'
import type { HttpParseError, RequestHead } from '../client/framing.js'
import { expectationIssue, hostIssue, isLastHop, keepsAlive, originForm, RequestFields } from './request-fields.js'
import { beginTrace } from './request-traces.js'
import { applyRules } from './apply.js'
import type { ProxyContext } from './proxy-context.js'
import { RequestBody } from '../client/request-body.js'
import { toOrigin } from './to-origin.js'
import type { Served } from '../exchange/zones.js'

const ALLOW = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const NAME = 'edged'
const ACME_PATH = '/.well-known/acme-challenge/'
/** A request that passed this many proxies of ours is in a loop. */
const MAX_HOPS = 8

/** Serves one request: reads it, finds its zone, passes it through the stages to its origin. */
export function serve(request: RequestHead, connection: ClientStream, context: ProxyContext): void {
  const { method, httpVersion } = request
  const fields = new RequestFields(request.rawHeaders)
  const target =
    (method === 'TRACE' || method === 'CONNECT' ? NOT_ALLOWED : undefined) ??
    hostIssue(fields) ??
    expectationIssue(httpVersion, fields) ??
    loopIssue(fields) ??
    originForm(request, fields)
  if (typeof target !== 'string') {
    rejectRequest(connection, target, context, { accept: fields.accept, request, host: fields.host })
    return
  }

  const served = context.zones.current.find(fields.host ?? '')
  if (!served) {
    rejectRequest(connection, { status: 404 }, context, {
      accept: fields.accept,
      request,
      host: fields.host,
      reason: 'unknown_host',
    })
    return
  }
  const lastHop = isLastHop(method, fields)
  const exchange = arrival(request, connection, fields, { method, target, served, context })
  if (context.tracer?.enabled) beginTrace(exchange, context.tracer, () => context.trusted(connection.address))
  const client = new ClientResponse(
    connection,
    exchange,
    { accept: fields.accept, keepAlive: keepsAlive(httpVersion, fields) },
    context,
  )
  const proof = target.startsWith(ACME_PATH) ? context.issued?.authorization(target.slice(ACME_PATH.length)) : undefined
  if (proof !== undefined) provesControl(client, proof)
  else if (isMisdirected(exchange)) client.page({ status: 421 })
  else if (served.zone.https.always && exchange.scheme === 'http') redirectToHttps(client, exchange, fields, context)
  else if (target === '*' || lastHop) serverOptions(client)
  else if (context.challenges?.takes(exchange))
    respondToSolution(client, exchange, context.challenges, requestBody(connection, exchange, fields))
  else forward(client, exchange, fields, context)
}

/**
 * Returns whether the request came on a connection that is less secure than its zone asks for: it was opened for another
 * name (RFC 9110, 15.5.20).
 */
const isMisdirected = (exchange: Exchange): boolean => {
  const { tls, zone, host } = exchange
  if (!tls) return false
  if (zone.https.minVersion === '1.3' && tls.version !== 'TLSv1.3') return true
  const { serverName } = tls
  return zone.clientAuthority !== undefined && !exchange.asksForCertificate && ![undefined, host].includes(serverName)
}

/** Clients repeat GET and HEAD at the new address (RFC 9110, 15.4.2). */
function redirectToHttps(
  client: ClientResponse,
  { target }: Exchange,
  { host = '' }: RequestFields,
  context: ProxyContext,
): void {
  client.head(301, [
    'location',
    httpsAddress(host, target === '*' ? '/' : target, context.ports()),
    'content-length',
    '0',
  ])
  client.end()
}

/** Methods that a gateway does not support. */
const NOT_ALLOWED: HttpParseError = { status: 405, headers: { allow: ALLOW } }

function loopIssue({ via }: RequestFields): HttpParseError | undefined {
  return via !== undefined && via.split(NAME).length > MAX_HOPS ? { status: 508 } : undefined
}

/** Facts about a request that is rejected, as far as they are known. */
interface RejectedRequest {
  readonly accept?: string | undefined
  readonly request?: RequestHead
  readonly host?: string | undefined
  /** Default: a new one. */
  readonly rayId?: string | undefined
  /** For the log; default: the detail that the client gets. */
  readonly reason?: string | undefined
}

/** RFC 1035: 253 characters, with a port. */
const MAX_LOGGED_HOST = 260

/** Rejects a request that is malformed or that no zone serves, before an exchange is created. */
export function rejectRequest(
  connection: ClientStream,
  issue: HttpParseError,
  { clock, log, metrics, accessLog }: ProxyContext,
  { rayId = newRayId(), accept, request, host, reason = issue.detail }: RejectedRequest = {},
): void {
  const { status } = issue
  metrics.reject(issue.status)
  log.info({
    event: 'request_refused',
    ray: rayId,
    client: connection.address,
    status: issue.status,
    host: host?.slice(0, MAX_LOGGED_HOST),
    reason,
  })
  connection.reject(issue, { rayId, at: clock.now(), accept, head: request?.method === 'HEAD' })
  accessLog?.rejected({ startedAt: clock.now(), rayId, clientAddress: connection.address, status, request })
}

function arrival(
  request: RequestHead,
  connection: ClientStream,
  fields: RequestFields,
  { method, target, served, context }: { method: string; target: string; served: Served; context: ProxyContext },
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
  headers.push('via', via ? `${via}, ${request.httpVersion} ${NAME}` : `${request.httpVersion} ${NAME}`)
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
function reportForwarded(peer: string, context: ProxyContext): void {
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

/** Answers a validation of a certificate authority, ahead of all rules (RFC 8555, 8.3). */
function provesControl(client: ClientResponse, authorization: string): void {
  const body = Buffer.from(authorization)
  client.head(200, ['content-type', 'application/octet-stream', 'content-length', String(body.length)])
  client.data(body)
  client.end()
}

/** Responds to an OPTIONS that asks for the capabilities of this server (RFC 9110, 9.3.7) and not of an origin. */
function serverOptions(client: ClientResponse): void {
  client.head(204, ['allow', ALLOW])
  client.end()
}

function forward(client: ClientResponse, exchange: Exchange, fields: RequestFields, context: ProxyContext): void {
  const body = requestBody(client.connection, exchange, fields)
  const { rules } = exchange.zone
  if (rules) applyRules(rules, exchange, client, body, context, () => toOrigin(client, exchange, fields, body, context))
  else toOrigin(client, exchange, fields, body, context)
}

/**
 * Returns the request's body, if any. The client is asked to send it when it is first read, unless it already sends.
 */
function requestBody(
  connection: ClientStream,
  { httpVersion }: Exchange,
  { expect }: RequestFields,
): RequestBody | null {
  if (!connection.hasBody) return null
  const body = new RequestBody(connection, (arrived) => {
    if (expect === undefined || httpVersion === '1.0' || arrived || connection.writer.begun) return
    connection.interim(100, [])
  })
  connection.body = body
  return body
}
