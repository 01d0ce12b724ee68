import { newRayId } from '../core/ids.js'
import { Overloaded } from '../http/origin-errors.js'
import type { AnswerSink } from './response.js'
import { visitorAddress } from './client/client-address.js'
import { answerSolution } from './challenge/endpoint.js'
import { ClientAnswer } from './client/client-response.js'
import { CompressedAnswer } from './compressed-response.js'
import type { ClientConnection } from './client/connection.js'
import { Exchange } from './exchange.js'
import { Forward, type Switch } from './forward.js'
import type { Fault, RequestHead } from './client/framing.js'
import { refuse } from './client/refusal.js'
import { expectationFault, hostFault, keepsAlive, originForm, RequestFields } from './request-fields.js'
import { applyRules } from './rules/apply.js'
import { originOf } from './rules/origin-target.js'
import { RuledAnswer } from './rules/response-phases.js'
import type { Surroundings } from './proxy-context.js'
import { Upload } from './client/request-body.js'
import { asksForWebSocket, openTunnel } from './client/websocket.js'
import type { Served } from './zones.js'

const ALLOW = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
const NAME = 'edged'
/** A request that passed so many of us is going round in circles. */
const MAX_HOPS = 8

/** Answers one request: reads it, finds its zone, runs it through the stages and its origin. */
export function serve(request: RequestHead, connection: ClientConnection, around: Surroundings): void {
  const { method, httpVersion } = request
  const fields = new RequestFields(request.rawHeaders)
  const target = originForm(request.target, method, fields.host ?? '')
  const fault =
    (method === 'TRACE' || method === 'CONNECT' ? NOT_ALLOWED : undefined) ??
    hostFault(fields) ??
    expectationFault(httpVersion, fields) ??
    (typeof target === 'string' ? loopFault(fields) : target)
  if (fault || typeof target !== 'string') {
    if (fault) refuseRequest(connection, fault, around, { accept: fields.accept, method })
    return
  }

  const served = around.zones.current.find(fields.host ?? '')
  if (!served) {
    refuseRequest(connection, { status: 404 }, around, { accept: fields.accept, method })
    return
  }
  const exchange = arrival(request, connection, fields, { method, target, served, around })
  const client = new ClientAnswer(
    connection,
    exchange,
    { accept: fields.accept, keepAlive: keepsAlive(httpVersion, fields) },
    around,
  )
  if (target === '*') serverOptions(client)
  else if (around.challenges?.takes(exchange))
    answerSolution(client, exchange, around.challenges, upload(connection, exchange, fields))
  else forward(client, exchange, fields, around)
}

/** For the methods that a gateway has no business with. */
const NOT_ALLOWED: Fault = { status: 405, headers: { allow: ALLOW } }

function loopFault({ via }: RequestFields): Fault | undefined {
  return via !== undefined && via.split(NAME).length > MAX_HOPS ? { status: 508 } : undefined
}

/** Refuses what is not well-formed, or is nobody's to answer, before it has become an exchange. */
export function refuseRequest(
  connection: ClientConnection,
  fault: Fault,
  { clock, log, metrics }: Surroundings,
  { accept, method }: { accept?: string | undefined; method?: string } = {},
): void {
  const rayId = newRayId()
  metrics.refuse(fault.status)
  log.info({
    event: 'request_refused',
    ray: rayId,
    client: connection.address,
    status: fault.status,
    reason: fault.detail,
  })
  connection.finish()
  refuse(connection.socket, fault, { rayId, at: clock.now(), accept, head: method === 'HEAD' })
}

function arrival(
  request: RequestHead,
  connection: ClientConnection,
  fields: RequestFields,
  { method, target, served, around }: { method: string; target: string; served: Served; around: Surroundings },
): Exchange {
  const rayId = newRayId()
  const believed = around.trusted(connection.address)
  const clientAddress = visitorAddress(connection.address, fields.forwardedFor, around.trusted)
  const scheme = believed && fields.forwardedProto === 'https' ? 'https' : 'http'
  const host = fields.host ?? ''
  const { via, forwardedFor } = fields
  // What only trusted proxies may tell, others would make up.
  const headers = believed ? fields.kept : around.trustedFields.strip(fields.kept)
  const rawHeaders = believed ? request.rawHeaders : around.trustedFields.strip(request.rawHeaders)
  headers.push('host', host)
  headers.push('x-forwarded-for', forwardedFor ? `${forwardedFor}, ${connection.address}` : connection.address)
  headers.push('x-forwarded-proto', scheme, 'x-forwarded-host', host)
  headers.push('via', via ? `${via}, ${request.httpVersion} ${NAME}` : `${request.httpVersion} ${NAME}`)
  headers.push('cf-ray', rayId, 'cf-connecting-ip', clientAddress)
  return new Exchange({
    rayId,
    clientAddress,
    scheme,
    served,
    method,
    target,
    httpVersion: request.httpVersion,
    rawHeaders,
    headers,
    local: connection.socket,
    vouched: believed ? around.trustedFields.read(rawHeaders) : undefined,
    startedAt: around.clock.now(),
    startedMonotonic: around.clock.monotonic(),
  })
}

/** `OPTIONS *` asks what this server can do (RFC 9110, 9.3.7); no origin speaks for it. */
function serverOptions(client: ClientAnswer): void {
  client.head(204, ['allow', ALLOW])
  client.end()
}

function forward(client: ClientAnswer, exchange: Exchange, fields: RequestFields, around: Surroundings): void {
  const body = upload(client.connection, exchange, fields)
  const { rules } = exchange.zone
  if (rules) applyRules(rules, exchange, client, body, around, () => toOrigin(client, exchange, fields, body, around))
  else toOrigin(client, exchange, fields, body, around)
}

function toOrigin(
  client: ClientAnswer,
  exchange: Exchange,
  fields: RequestFields,
  body: Upload | null,
  around: Surroundings,
): void {
  let sink: AnswerSink = exchange.zone.rules?.compresses ? new CompressedAnswer(client, exchange) : client
  for (const stage of around.stages) sink = stage(exchange, sink)
  if (exchange.run?.awaitsAnswer) sink = new RuledAnswer(sink, exchange, exchange.run, around)

  const worker = around.workers?.find(exchange)
  if (worker) {
    client.cancel = worker.serve(exchange, sink)
    return
  }

  const switched =
    exchange.zone.websockets && asksForWebSocket(exchange.method, exchange.httpVersion, fields)
      ? (...[status, fields, origin]: Parameters<Switch>) =>
          openTunnel(client, exchange, around, { status, fields, origin })
      : undefined
  try {
    const { url, serverName } = originOf(exchange)
    const origin = around.origins.get(url, exchange.zone.originCa, serverName)
    const forward = new Forward(exchange, origin, sink, around, { body, switched })
    client.cancel = () => forward.cancel()
    forward.send()
  } catch (error) {
    if (error instanceof Overloaded) sink.fail(error)
    else throw error
  }
}

/** The request's body, if any; the client is asked for it when somebody wants it, unless it has begun to send it. */
function upload(connection: ClientConnection, { httpVersion }: Exchange, { expect }: RequestFields): Upload | null {
  if (!connection.framing.hasBody) return null
  const body = new Upload(connection, (arrived) => {
    if (expect === undefined || httpVersion === '1.0' || arrived || connection.writer.begun) return
    connection.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
  })
  connection.body = body
  return body
}
