import { accessOf, type AccessEntry } from '../../agents/access/access.js'
import type { Agent } from '../../agents/identity.js'
import { messageOf } from '../../core/errors.js'
import { newUuid } from '../../core/ids.js'
import type { Log } from '../../core/log.js'
import { zone as zoneScope } from '../../core/scope.js'
import { AgentVariant } from '../agents/agent-variant.js'
import { ChargedResponse } from '../agents/charged-response.js'
import { Payment, type Refusal } from '../agents/payments.js'
import { InternalClient } from '../client/internal-client.js'
import { challengeResponse } from '../challenge/challenge-response.js'
import { sendBody } from '../exchange/bytes-source.js'
import type { Exchange } from '../exchange/exchange.js'
import { requestIds } from '../exchange/request-ids.js'
import type { ResponseSink } from '../exchange/response.js'
import type { TerminalAction } from '../../rules/types.js'
import { respondAsRule } from './apply.js'
import type { ClientResponse } from './client-response.js'
import type { AgentsContext } from './proxy-context.js'
import { renderRuleResponse } from './rule-response.js'

/** Requests that pay, until their response. */
const payments = new WeakMap<Exchange, Payment>()

/**
 * Applies the first entry of `access` that fits the agent. Returns whether the request continues now. It does not if the
 * entry has ended it, or if `resume` continues it later.
 */
export function passAccess(
  exchange: Exchange,
  client: ClientResponse,
  context: AgentsContext,
  resume: () => void,
): boolean {
  const { agent, rawTarget } = exchange
  if (agent === undefined) return true
  const path = rawTarget.split('?', 1)[0]!
  // A 403 there would mean that there are no rules.
  if (path === '/robots.txt') return true
  const entry = accessEntryOf(exchange, agent)
  if (entry === undefined) return true
  exchange.agentAction = entry.action
  if (entry.action === 'canonical') return canonicalIsKnown(exchange, client, context, resume)
  if (entry.action === 'pay') return pays(exchange, client, context, { entry, path, resume })
  if (entry.action === 'block') return end(exchange, client, { kind: 'page', status: 403, reason: 'access_denied' })
  if (entry.action === 'challenge') {
    const response = context.challengeOf && challengeResponse(context.challengeOf, exchange)
    return response === undefined || end(exchange, client, response)
  }
  return true
}

/** Returns whether `access` lets the agent of a request have a page without more, as far as the path decides. */
export function isOpen(exchange: Exchange): boolean {
  const { agent, rawTarget } = exchange
  const entry = agent && accessEntryOf(exchange, agent)
  if (entry === undefined) return true
  if (entry.action === 'pay') return isFree(entry, rawTarget.split('?', 1)[0]!)
  return entry.action !== 'block' && entry.action !== 'challenge'
}

const isFree = (entry: AccessEntry, path: string): boolean => !AMBIGUOUS.test(path) && entry.isFree(path)

/** Returns the entry of `access` for an agent. A rule can send crawlers for training to canonical pages. */
function accessEntryOf({ zone, decisions }: Exchange, agent: Agent): AccessEntry | undefined {
  const entry = zone.agentAccess?.find((one) => one.fits(agent))
  if (entry !== undefined || agent.category !== 'ai_crawler') return entry
  return decisions.settings.redirects_for_ai_training === true ? CANONICAL : undefined
}

const [CANONICAL] = accessOf([{ who: {}, do: 'canonical' }])

/**
 * Returns whether a response can be judged. One to HEAD does not name the canonical address, so the page is read first, and
 * `resume` is called then.
 */
function canonicalIsKnown(
  exchange: Exchange,
  client: ClientResponse,
  { internalGet }: Pick<AgentsContext, 'internalGet'>,
  resume: () => void,
): boolean {
  if (exchange.method !== 'HEAD' || client.connection instanceof InternalClient) return true
  void readFirst(
    client,
    internalGet({
      exchange,
      connection: client.connection,
      target: exchange.rawTarget,
      accept: 'text/html, */*;q=0.5',
      maxBytes: 0,
    }),
    resume,
  )
  return false
}

/** Continues a request after another one that edged makes for it. */
async function readFirst(
  client: ClientResponse,
  { response, cancel }: ReturnType<AgentsContext['internalGet']>,
  resume: () => void,
): Promise<void> {
  client.cancel = cancel
  try {
    await response
    client.cancel = undefined
    if (!client.isOver) resume()
  } catch (error) {
    client.fail(error)
  }
}

/** Paths that other software reads as another path. They cost as much as any page. */
const AMBIGUOUS = /%(?:2e|2f|5c|25|00)|\\|\/\/|\/\.{1,2}(?:[/;]|$)/i

function pays(
  exchange: Exchange,
  client: ClientResponse,
  context: AgentsContext,
  { entry, path, resume }: { entry: AccessEntry; path: string; resume: () => void },
): boolean {
  const { price } = entry
  if (price === undefined || isFree(entry, path)) return true
  const found = context.payments.judge(exchange, price)
  if (found instanceof Promise) void payLater(exchange, client, found, { log: context.log, resume })
  else refuse(exchange, client, found)
  return false
}

async function payLater(
  exchange: Exchange,
  client: ClientResponse,
  payment: Promise<Payment | Refusal>,
  { log, resume }: Pick<AgentsContext, 'log'> & { resume: () => void },
): Promise<void> {
  try {
    const found = await payment
    if (!(found instanceof Payment)) {
      if (!client.isOver) refuse(exchange, client, found)
    } else if (client.isOver) await found.end()
    else {
      payments.set(exchange, found)
      // Other stages may respond before the response is charged.
      client.finished = () => void endPayment(exchange, found, log)
      resume()
    }
  } catch (error) {
    log.warn({ event: 'crawl_payment_failed', ...requestIds(exchange), reason: messageOf(error) })
    if (!client.isOver) client.page({ status: 503, retryAfter: 1 })
  }
}

function refuse(exchange: Exchange, client: ClientResponse, { status, headers, body }: Refusal): void {
  exchange.payStatus = 'required'
  client.head(status, [...headers, 'content-length', String(body.length)])
  sendBody(client, exchange.method, body)
}

/** Returns the sink for the changes of `access` in a response. */
export function accessSink(exchange: Exchange, next: ResponseSink, context: AgentsContext): ResponseSink {
  if (exchange.agentAction === 'markdown') return new AgentVariant(next)
  const payment = payments.get(exchange)
  if (payment === undefined) return next
  payments.delete(exchange)
  return new ChargedResponse(next, payment.price, {
    charge: async (status) => {
      payment.isCharged = true
      try {
        await charge(exchange, payment, status, context)
      } catch (error) {
        payment.isCharged = false
        throw error
      }
    },
    end: async () => await endPayment(exchange, payment, context.log),
  })
}

/** Never rejects. A signature that cannot be released pays no more. */
async function endPayment(exchange: Exchange, payment: Payment, log: Log): Promise<void> {
  try {
    await payment.end()
  } catch (error) {
    log.warn({ event: 'signature_not_released', ...requestIds(exchange), reason: messageOf(error) })
  }
}

/** Stores the receipt of a request. */
async function charge(
  exchange: Exchange,
  { price, signature }: Payment,
  status: number,
  { saveCharge, log }: AgentsContext,
): Promise<void> {
  const { zone, host, rawTarget, agent, rayId: ray, startedAt } = exchange
  const record = {
    id: newUuid(),
    time: BigInt(Math.floor(startedAt)) * 1_000_000n,
    zone: zone.name,
    host,
    path: rawTarget.split('?', 1)[0]!,
    agent: agent?.name ?? '',
    directory: signature.agent.url,
    keyid: signature.keyid,
    price: price.text.slice(4),
    currency: price.currency,
    status,
    ray,
  }
  await saveCharge(zoneScope(zone.id), record)
  log.info({ event: 'crawl_charged', ...record, time: new Date(startedAt).toISOString() })
  exchange.payStatus = 'charged'
  exchange.charged = price
}

function end(exchange: Exchange, client: ClientResponse, ending: Exclude<TerminalAction, { kind: 'close' }>): boolean {
  const { run } = exchange
  if (run) respondAsRule(client, exchange, run, ending)
  else if (ending.kind === 'page') client.page(ending)
  else {
    const { status, headers, body } = renderRuleResponse(ending, exchange)
    const bytes = Array.isArray(body) ? Buffer.concat(body as Buffer[]) : (body as Buffer)
    client.head(status, [...headers, 'content-length', String(bytes.length)])
    sendBody(client, exchange.method, bytes)
  }
  return false
}
