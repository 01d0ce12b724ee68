import { mayPass } from './access.js'
import { accessSink, passAccess } from './agent-access.js'
import { agentOf } from '../agents/agent-of.js'
import { requestPhases } from './apply.js'
import { asksForWebSocket, openTunnel } from './websocket.js'
import { InternalClient } from '../client/internal-client.js'
import { CompressedResponse } from '../compression/compressed-response.js'
import type { ResponseSink } from '../exchange/response.js'
import { RuledResponse } from './response-phases.js'
import type { ProxyContext } from './proxy-context.js'
import type { RequestFields } from './request-fields.js'
import { ownFile } from './own-file.js'
import { siteEndpoint } from './site-endpoint.js'
import { toOrigin, type OriginCall } from './to-origin.js'

/** A request on its way through the stages. */
export interface StagedRequest extends OriginCall {
  readonly fields: RequestFields
  readonly context: ProxyContext
  switched: OriginCall['switched']
}

/** A stage between the client and the origin. */
interface ServeStage {
  readonly name: string
  /** Changes the request. Returns false if it has ended the request, or calls {@link resumeAfter} its place `at` later. */
  readonly down?: (request: StagedRequest, at: number) => boolean
  /** Returns the sink that changes the response and passes it to `next`, or `next` itself. */
  readonly up?: (request: StagedRequest, next: ResponseSink) => ResponseSink
}

/**
 * The way of a request. It passes `down` of each stage from top to bottom. Its response passes `up` from bottom to top:
 *
 *     client
 *       |  ^   client-response.ts: edge fields of the cache, HSTS, managed transforms of the response
 *       v  |
 *     agents         down: recognizes the agent that sent the request
 *     rules          down: request phases; a rule may respond, or wait for the body
 *     access         down: what agents may       up: charges, and marks what is for one agent
 *     authentication down: authentication of the path; waits for the password or the service
 *     transforms     down: managed transforms of the request
 *     compression                                up: compresses as a rule has decided
 *     markdown       down: asks for HTML         up: converts HTML to Markdown
 *     response rules                             up: custom errors, headers, compression, log fields
 *       |  ^
 *       v  |
 *     site-endpoint.ts: addresses that edged adds to a site
 *     to-origin.ts: a Worker, or the cache and behind it an origin
 *
 * A stage that has nothing to do adds no sink, so that an unchanged response passes the client's sink only.
 */
const STAGES: readonly ServeStage[] = [
  {
    name: 'agents',
    down({ client, exchange, fields, context }) {
      const { connection } = client
      // The signature of the client's own request does not fit a request of edged.
      if (connection instanceof InternalClient) exchange.agent = connection.agent
      else if (context.agents) exchange.agent = agentOf(context.agents, exchange, fields)
      return true
    },
  },
  {
    name: 'rules',
    down: (request, at) => {
      const { client, exchange, body, context } = request
      const { rules } = exchange.zone
      return !rules || requestPhases(rules, exchange, client, { body, context, resume: resumeAfter(request, at) })
    },
  },
  {
    name: 'access',
    down: (request, at) => {
      const { client, exchange, context } = request
      return exchange.agent === undefined || passAccess(exchange, client, context, resumeAfter(request, at))
    },
    up: ({ exchange, context }, next) => accessSink(exchange, next, context),
  },
  {
    name: 'authentication',
    down(request, at) {
      const { exchange } = request
      if (!exchange.zone.places) return true
      // An address that the edge adds to the site has the place of its page.
      exchange.settle()
      const { auths } = exchange
      return auths.length === 0 || mayPass(request, auths, resumeAfter(request, at))
    },
  },
  {
    name: 'transforms',
    down({ exchange, context }) {
      const { transforms } = exchange.zone
      if (transforms?.request)
        exchange.headers = transforms.request(exchange.headers, exchange, (address) => context.fields.geo.find(address))
      return true
    },
  },
  {
    name: 'compression',
    up: ({ exchange }, next) => {
      const { rules, compresses } = exchange.zone
      return rules?.compresses || compresses ? new CompressedResponse(next, exchange) : next
    },
  },
  {
    name: 'markdown',
    // One call for both ways, because the request that is sent decides what may be converted.
    up({ exchange, context }, next) {
      let sink = next
      for (const stage of context.stages) sink = stage(exchange, sink)
      return sink
    },
  },
  {
    name: 'response rules',
    up: ({ exchange, context }, next) =>
      exchange.run?.awaitsResponse ? new RuledResponse(next, exchange, exchange.run, context) : next,
  },
]

/** Returns the function that continues a request after the stage at `at`. */
const resumeAfter = (request: StagedRequest, at: number) => (): void => passStages(request, at + 1)

/** Passes a request through the stages, from the one at `first`, and sends it on. */
export function passStages(request: StagedRequest, first = 0): void {
  for (let at = first; at < STAGES.length; at++) if (STAGES[at]!.down?.(request, at) === false) return
  const { client, exchange, fields, context } = request
  const endpoint = siteEndpoint(request, openSink)
  if (endpoint.isServed) return
  const sink = endpoint.wrap(openSink(request))
  if (exchange.zone.websockets && asksForWebSocket(exchange, fields))
    request.switched = (status, raw, origin) => openTunnel(client, exchange, context, { status, fields: raw, origin })
  toOrigin(exchange.alias?.type === 'page' ? withOwnFile(request, sink) : sink, request)
}

/** Returns the sink of the response to a request: the stages above its end. */
function openSink(request: StagedRequest): ResponseSink {
  let sink: ResponseSink = request.client
  for (const { up } of STAGES) if (up) sink = up(request, sink)
  return sink
}

const withOwnFile = (request: StagedRequest, sink: ResponseSink): ResponseSink =>
  ownFile(sink, request.exchange, { open: () => openSink(request), send: (to) => toOrigin(to, request) })
