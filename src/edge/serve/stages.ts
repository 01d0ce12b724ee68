import { mayPass } from './access.js'
import { accessSink, passAccess } from './agent-access.js'
import { agentOf } from '../agents/agent-of.js'
import { requestPhases } from './apply.js'
import type { Switch } from './forward.js'
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
export interface StagedRequest extends Omit<OriginCall, 'switched'> {
  readonly fields: RequestFields
  readonly context: ProxyContext
}

/** A stage between the client and the origin. */
interface ServeStage {
  readonly name: string
  /** Changes the request. Returns false if it has ended the request, or calls `resume` later. */
  readonly down?: (request: StagedRequest, resume: () => void) => boolean
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
    down: ({ client, exchange, body, context }, resume) => {
      const { rules } = exchange.zone
      return !rules || requestPhases(rules, exchange, client, { body, context, resume })
    },
  },
  {
    name: 'access',
    down: ({ client, exchange, context }, resume) => passAccess(exchange, client, context, resume),
    up: ({ exchange, context }, next) => accessSink(exchange, next, context),
  },
  {
    name: 'authentication',
    down(request, resume) {
      const { exchange } = request
      if (!exchange.zone.places) return true
      // An address that the edge adds to the site has the place of its page.
      exchange.settle()
      return mayPass(request, exchange.auths, resume)
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
    up: ({ exchange, context }, next) => context.stages.reduce((sink, stage) => stage(exchange, sink), next),
  },
  {
    name: 'response rules',
    up: ({ exchange, context }, next) =>
      exchange.run?.awaitsResponse ? new RuledResponse(next, exchange, exchange.run, context) : next,
  },
]

/** Passes a request through the stages, from the one at `first`, and sends it on. */
export function passStages(request: StagedRequest, first = 0): void {
  for (let at = first; at < STAGES.length; at++)
    if (STAGES[at]!.down?.(request, () => passStages(request, at + 1)) === false) return
  const { client, exchange, fields, body, context } = request
  const open = () => {
    let sink: ResponseSink = client
    for (const { up } of STAGES) if (up) sink = up(request, sink)
    return sink
  }
  const endpoint = siteEndpoint(request, open)
  if (endpoint.isServed) return
  const sink = endpoint.wrap(open())
  const switched =
    exchange.zone.websockets && asksForWebSocket(exchange, fields)
      ? (...[status, raw, origin]: Parameters<Switch>) =>
          openTunnel(client, exchange, context, { status, fields: raw, origin })
      : undefined
  const call = { client, exchange, body, context, switched }
  const isAlias = exchange.alias?.type === 'page'
  toOrigin(isAlias ? ownFile(sink, exchange, { open, send: (to) => toOrigin(to, call) }) : sink, call)
}
