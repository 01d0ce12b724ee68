import { newRayId } from '../../core/ids.js'
import { ClientResponse } from './client-response.js'
import type { ClientStream } from '../client/client-stream.js'
import { ALLOW, EARLY } from './early.js'
import type { Exchange } from '../exchange/exchange.js'
import type { HttpParseError, RequestHead } from '../client/framing.js'
import { expectationIssue, hostIssue, isLastHop, keepsAlive, originForm, RequestFields } from './request-fields.js'
import { beginTrace } from './request-traces.js'
import { arrivedExchange } from './arrived-exchange.js'
import { VIA_NAME } from './own-fields.js'
import type { ProxyContext } from './proxy-context.js'
import { ServedRequest } from './served-request.js'
import { passStages } from './stages.js'

/** A request that passed this many proxies of ours is in a loop. */
const MAX_HOPS = 8

/**
 * Serves one request: checks its head, finds its zone, and lets the first of {@link EARLY} respond that applies. Any
 * other request passes the stages of `stages.ts` to a Worker, the cache or an origin.
 */
export function serve(request: RequestHead, connection: ClientStream, context: ProxyContext): void {
  const fields = new RequestFields(request)
  const target = targetOf(request, fields)
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
  const { method } = request
  // Before the fields are copied: this counts Max-Forwards down.
  const lastHop = isLastHop(method, fields)
  const exchange = arrivedExchange(request, connection, fields, { method, target, served, context })
  if (context.tracer?.enabled) trace(exchange, connection, context)
  const keepAlive = keepsAlive(request.httpVersion, fields)
  const client = new ClientResponse(connection, exchange, { accept: fields.accept, keepAlive }, context)
  const arrived = new ServedRequest(client, exchange, fields, context, lastHop)
  for (const respond of EARLY) if (respond(arrived)) return
  arrived.openBody()
  passStages(arrived)
}

function trace(exchange: Exchange, connection: ClientStream, { tracer, trusted }: ProxyContext): void {
  if (tracer) beginTrace(exchange, tracer, () => trusted(connection.address))
}

/** Returns the target of a request in origin form, or why the request is rejected. */
function targetOf(request: RequestHead, fields: RequestFields): string | HttpParseError {
  const { method, httpVersion } = request
  return (
    (method === 'TRACE' || method === 'CONNECT' ? NOT_ALLOWED : undefined) ??
    hostIssue(fields) ??
    expectationIssue(httpVersion, fields) ??
    loopIssue(fields) ??
    originForm(request, fields)
  )
}

/** Methods that a gateway does not support. */
const NOT_ALLOWED: HttpParseError = { status: 405, headers: { allow: ALLOW } }

function loopIssue({ via }: RequestFields): HttpParseError | undefined {
  return via !== undefined && via.split(VIA_NAME).length > MAX_HOPS ? { status: 508 } : undefined
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
  { clock, log, metrics, accessLog }: Pick<ProxyContext, 'clock' | 'log' | 'metrics' | 'accessLog'>,
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
