import { messageOf } from '../../core/errors.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { PhaseName } from '../../rules/phases.js'
import { fieldContext } from '../../rules/fields/index.js'
import { internalFields, type InternalRequest } from '../client/internal-get.js'
import type { Caller } from '../agents/mcp/read-page.js'
import type { RequestHead } from '../client/framing.js'
import { InternalClient, type InternalResponse } from '../client/internal-client.js'
import type { Exchange } from '../exchange/exchange.js'
import { hostOf } from '../exchange/site.js'
import { isOpen } from './agent-access.js'
import type { ProxyContext } from './proxy-context.js'
import { RequestFields } from './request-fields.js'
import { arrivedExchange } from './arrived-exchange.js'
import { serve } from './serve.js'

/** Sends a GET on behalf of a client through the whole way of a request. */
export function internalGet(
  request: InternalRequest,
  context: ProxyContext,
): { readonly response: Promise<InternalResponse>; readonly cancel: () => void } {
  let client!: InternalClient
  const response = new Promise<InternalResponse>((done) => {
    const { maxBytes } = request
    client = new InternalClient(request.connection, { agent: request.exchange.agent, maxBytes, done })
  })
  try {
    serve(headOf(request, context), client, context)
  } catch (error) {
    context.log.error({ event: 'internal_error', error: messageOf(error) })
    client.cut()
  }
  return { response, cancel: () => client.leave() }
}

/** Counts of requests are not evaluated for a request that is not made. */
const LIMITS: ReadonlySet<PhaseName> = new Set(['http_ratelimit'])

/**
 * Returns whether the rules of the site, its `access` and its authentication let the client of a request read another page as
 * it is: without a price and without credentials.
 */
export function mayRead({ exchange, connection }: Caller, target: string, context: ProxyContext): boolean {
  const head = headOf({ exchange, connection, target, accept: 'text/markdown', maxBytes: 0 }, context)
  const served = context.zones.current.find(hostOf(exchange))
  if (!served) return false
  const method = 'GET'
  const fields = new RequestFields(head)
  const other = arrivedExchange(head, connection, fields, { method, target, served, context })
  other.agent = exchange.agent
  return passesRules(other, context) && isOpen(other) && !needsAuthentication(other)
}

/** Returns whether the path of a request needs authentication, or the page that it is the Markdown of. */
function needsAuthentication(other: Exchange): boolean {
  if (!other.zone.places) return false
  other.settle()
  return other.auths.length > 0
}

function passesRules(other: Exchange, context: ProxyContext): boolean {
  const { rules } = other.zone
  if (!rules) return true
  const run = rules.begin(other, fieldContext(other, context.fields))
  other.run = run
  return run.request(LIMITS) === undefined
}

function headOf(request: InternalRequest, context: ProxyContext): RequestHead {
  const { exchange, connection, target } = request
  const rawHeaders = internalFields(request, {
    host: headerOf(exchange.rawHeaders, 'host') ?? exchange.host,
    isTrusted: context.trusted(connection.address),
    vouched: vouchedFields(exchange.rawHeaders, context),
  })
  return { method: 'GET', target, httpVersion: '1.1', rawHeaders }
}

/** Returns the fields that only a trusted proxy may set. */
function vouchedFields(headers: RawHeaders, { trustedFields }: ProxyContext): string[] {
  const others = new Set(trustedFields.strip([...headers]).filter((_, i) => i % 2 === 0))
  return headers.filter((_, i) => !others.has(headers[i - (i % 2)]!))
}
