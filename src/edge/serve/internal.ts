import { messageOf } from '../../core/errors.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { PhaseName } from '../../rules/phases.js'
import { fieldContext } from '../../rules/fields/index.js'
import { internalFields, type InternalRequest } from '../client/internal-get.js'
import type { Caller } from '../agents/mcp/read-page.js'
import type { RequestHead } from '../client/framing.js'
import { InternalClient, type InternalResponse } from '../client/internal-client.js'
import { hostOf } from '../exchange/site.js'
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
    client = new InternalClient(request.connection, { maxBytes: request.maxBytes, done })
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

/** Returns whether the rules of the site let the client of a request read another page. */
export function mayRead({ exchange, connection }: Caller, target: string, context: ProxyContext): boolean {
  const { rules } = exchange.zone
  if (!rules) return true
  const head = headOf({ exchange, connection, target, accept: 'text/markdown', maxBytes: 0 }, context)
  const served = context.zones.current.find(hostOf(exchange))
  if (!served) return false
  const method = 'GET'
  const fields = new RequestFields(head.rawHeaders)
  const other = arrivedExchange(head, connection, fields, { method, target, served, context })
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
