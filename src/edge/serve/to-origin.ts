import type { OriginTarget } from '../../http/connector.js'
import type { Origin } from '../../http/origin.js'
import type { TurnQueue } from '../../core/schedule/turn-queue.js'
import type { ClientCall } from '../cache/shared.js'
import type { ClientResponse } from './client-response.js'
import { wholeBody, type RequestBody } from '../client/request-body.js'
import type { Exchange } from '../exchange/exchange.js'
import { Forward, type Switch } from './forward.js'
import type { OriginExchange } from '../exchange/origin-exchange.js'
import { OriginRoute } from '../origins/route.js'
import type { ProxyContext } from './proxy-context.js'
import type { ResponseSink } from '../exchange/response.js'
import { respondAsRule } from './apply.js'
import { PrefixedRedirects } from './prefixed-redirects.js'
import { pathRequest, sendFile } from './send-file.js'
import { originTarget } from '../origins/origin-target.js'
import type { WorkerSite } from '../exchange/worker-sites.js'

/** Sends a request that has passed the stages to its Worker, the cache or an origin. `sink` receives the response. */
export function toOrigin(sink: ResponseSink, call: OriginCall): void {
  const { exchange, context } = call
  exchange.routedAt = context.clock.monotonic()
  const worker = exchange.zone.isPaused ? undefined : context.workers?.find(exchange)
  if (worker) toWorker(worker, sink, call)
  else toOriginServer(sink, call)
}

/** A request that has passed the stages. */
export interface OriginCall {
  readonly client: ClientResponse
  readonly exchange: Exchange
  readonly body: RequestBody | null
  readonly context: ProxyContext
  /** Continues with another protocol. Undefined if the request does not ask for one. */
  readonly switched: Switch | undefined
}

/** Whether a rate limit of requests to the origin ends the request here. */
function isLimited({ client, exchange }: OriginCall): boolean {
  const { run } = exchange
  const ending = run?.beforeOriginIsAsked()
  if (!run || !ending) return false
  exchange.caching.status = undefined
  respondAsRule(client, exchange, run, ending)
  return true
}

function toWorker(worker: WorkerSite, sink: ResponseSink, call: OriginCall): void {
  if (isLimited(call)) return
  const { client, exchange, body, context, switched } = call
  exchange.run?.toOrigin()
  client.cancel = worker.serve(exchange, sink, (url, to, request) => {
    const tunnel: Switch | undefined =
      switched &&
      ((...args) => {
        request.switched()
        switched(...args)
      })
    const runtime = context.origins.get(exchange.zone.id, { url })
    const forward = new Forward(exchange, runtime, to, context, { body, switched: tunnel, worker: request })
    forward.send()
    return () => forward.cancel()
  })
}

/** Sends the request to an origin of the zone, unless the cache has the response. */
function toOriginServer(sink: ResponseSink, call: OriginCall): void {
  const { client, exchange, context } = call
  exchange.restoreTarget()
  // The key of cached responses does not depend on the origin that happens to be chosen.
  let target: OriginTarget
  try {
    const { root } = exchange.place ?? {}
    target = root
      ? { url: `file:${root.folder}`, ca: undefined }
      : originTarget(exchange, exchange.balancer.peers[0]!.url)
  } catch (error) {
    sink.fail(error)
    return
  }
  const { cache } = context
  // What needs authentication is never stored in the shared cache.
  if (cache && exchange.auths.length === 0) client.cancel = cache.serve(new CachedCall(call, target), sink)
  else if (!isLimited(call)) client.cancel = sendOn(exchange, sink, call)
}

/** A request that the cache may answer. */
class CachedCall implements ClientCall {
  readonly #call: OriginCall
  readonly #target: OriginTarget

  constructor(call: OriginCall, target: OriginTarget) {
    this.#call = call
    this.#target = target
  }

  get exchange(): Exchange {
    return this.#call.exchange
  }

  get hasBody(): boolean {
    const { body, switched } = this.#call
    return body !== null || switched !== undefined
  }

  get origin(): string {
    return originName(this.#target)
  }

  get turns(): TurnQueue {
    return this.#call.context.turns
  }

  readBody(limit: number, ready: (body: Buffer | undefined) => void): void {
    const { exchange, body, context, switched } = this.#call
    const known = exchange.body
    if (known) ready(known.truncated ? undefined : Buffer.from(known.bytes, 'latin1'))
    else if (!body || switched) ready(undefined)
    else
      body.hold(limit, context.bufferMemory, ({ bytes, seen, ended }) =>
        ready(ended && seen === bytes.length ? Buffer.from(bytes, 'latin1') : undefined),
      )
  }

  isLimited(): boolean {
    return isLimited(this.#call)
  }

  send(request: OriginExchange, to: ResponseSink): () => void {
    return sendOn(request, to, this.#call)
  }
}

/** Sends a request to the folder or the origin of its path. Returns what cancels it. */
const sendOn = (request: OriginExchange, to: ResponseSink, call: OriginCall): (() => void) =>
  call.exchange.place?.root ? sendFile(request, to, call.exchange, call.context) : sendToOrigin(request, to, call)

/** Sends a request to an origin of the zone, or one after the other. Returns what cancels it. */
function sendToOrigin(request: OriginExchange, to: ResponseSink, call: OriginCall): () => void {
  const { client, exchange, context, switched } = call
  const body = request.content ? wholeBody(request.content) : call.body
  exchange.run?.toOrigin()
  const route = new OriginRoute(exchange, context)
  let origin: Origin
  try {
    origin = route.first()
  } catch (error) {
    to.fail(error)
    return () => undefined
  }
  const sent = pathRequest(request, exchange)
  const sink = sent.target === request.target ? to : new PrefixedRedirects(to, exchange)
  const forward = new Forward(sent, origin, sink, context, { body, switched, route, interim: client })
  forward.send()
  return () => forward.cancel()
}

/** Name of an origin in the keys of cached responses. */
const originName = ({ url, serverName }: OriginTarget): string =>
  serverName === undefined ? url : `${url} ${serverName}`
