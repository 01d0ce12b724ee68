import type { ClientResponse } from './client-response.js'
import { ForcedClose } from './client-response.js'
import type { Exchange } from '../exchange/exchange.js'
import { lengthOf, sendBody } from '../exchange/bytes-source.js'
import { bufferBody } from '../rules/body-buffer.js'
import { fieldContext } from '../../rules/fields/index.js'
import type { RulesContext } from './proxy-context.js'
import type { RequestBody } from '../client/request-body.js'
import type { RawHeaders } from '../../http/headers.js'
import type { TerminalAction } from '../../rules/types.js'
import type { Run } from '../../rules/engine/run.js'
import type { ZoneRules } from '../../rules/engine/zone-rules.js'
import { requestIds } from '../exchange/request-ids.js'

/** Inputs of {@link requestPhases}. */
interface RequestPhases {
  readonly body: RequestBody | null
  readonly context: RulesContext
  /** Continues the request after a body has arrived. */
  readonly resume: () => void
}

/**
 * Runs the rules of the request phases. Returns whether the request continues now. It does not if a rule has responded,
 * or if a body has to arrive first: then `resume` continues it.
 */
export function requestPhases(
  rules: ZoneRules,
  exchange: Exchange,
  client: ClientResponse,
  { body, context, resume }: RequestPhases,
): boolean {
  const run = rules.begin(exchange, fieldContext(exchange, context.fields))
  exchange.run = run
  const bounds = { limit: context.config.rules_body.bytes, memory: context.bodyMemory }
  const goesOn = (): boolean => {
    const ending = run.request()
    if (ending) {
      respondAsRule(client, exchange, run, ending)
      return false
    }
    if (exchange.decisions.settings.request_body_buffering !== 'full' || !body || exchange.body) return true
    bufferBody(exchange, body, bounds, later(resume))
    return false
  }
  /** Runs code after a body has arrived. No caller is left then to catch errors that the code throws. */
  const later = (act: () => void) => () => {
    try {
      act()
    } catch (error) {
      context.log.error({
        event: 'internal_error',
        ...requestIds(exchange),
        error: error instanceof Error ? error.stack : String(error),
      })
      client.page({ status: 500 })
    }
  }
  if (!rules.readsBody) return goesOn()
  bufferBody(
    exchange,
    body,
    bounds,
    later(() => {
      if (goesOn()) resume()
    }),
  )
  return false
}

/** The 1xxx code of a decision, and its family. */
const EDGE_ERRORS = {
  access_denied: { type: 'waf', code: 1020 },
  rate_limited: { type: 'ratelimit', code: 1015 },
  challenge_required: { type: 'managed_challenge', code: 0 },
} as const

/** Responds to the client as a rule has decided. */
export function respondAsRule(client: ClientResponse, exchange: Exchange, run: Run, ending: TerminalAction): void {
  if (ending.kind === 'page' && ending.reason) exchange.decisions.edgeError = EDGE_ERRORS[ending.reason]
  if (ending.kind !== 'close') show(exchange, run, ending)
  const sent = (ending.kind === 'page' && customError(exchange, run, ending)) || ending
  if (sent.kind !== 'close') run.response('http_log_custom_fields')
  run.finish(undefined)
  switch (sent.kind) {
    case 'close':
      client.fail(new ForcedClose())
      break
    case 'page':
      client.page(sent)
      break
    case 'response':
      client.head(sent.status, [...sent.headers, 'content-length', String(lengthOf(sent.body))])
      sendBody(client, exchange.method, sent.body)
  }
}

type RuleResponse = Exclude<TerminalAction, { kind: 'close' }>

/** Sets the response of a rule as the one that rules of response phases read. */
function show(exchange: Exchange, run: Run, ending: RuleResponse): void {
  exchange.response = { status: ending.status, headers: headersOf(ending), originHeaders: undefined }
  run.responded()
}

function headersOf(ending: RuleResponse): RawHeaders {
  if (ending.kind === 'response') return ending.headers
  const { retryAfter, headers = {} } = ending
  const retry = retryAfter === undefined ? [] : ['retry-after', String(retryAfter)]
  return ['cache-control', 'no-store', ...retry, ...Object.entries(headers).flat()]
}

/** Returns the custom error for a page of a rule, if any. Challenges are not replaced: clients have to solve them. */
function customError(
  exchange: Exchange,
  run: Run,
  { reason }: TerminalAction & { kind: 'page' },
): TerminalAction | undefined {
  if (reason === 'challenge_required') return undefined
  const custom = run.response('http_custom_errors')
  if (custom && custom.kind !== 'close') show(exchange, run, custom)
  return custom
}
