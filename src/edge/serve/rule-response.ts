import { errorPage } from '../exchange/error-page.js'
import type { Bytes } from '../exchange/bytes-source.js'
import type { Exchange } from '../exchange/exchange.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { TerminalAction } from '../../rules/types.js'

/** Returns the response of a rule, with its page rendered if the rule asks for one. */
export function renderRuleResponse(
  ending: Exclude<TerminalAction, { kind: 'close' }>,
  { rawHeaders, rayId, startedAt: at, zone }: Exchange,
): { readonly status: number; readonly headers: RawHeaders; readonly body: Bytes } {
  if (ending.kind === 'response') return ending
  const { kind: _kind, headers: more, ...facts } = ending
  const accept = headerValues(rawHeaders, 'accept').join(', ')
  const { headers, body } = errorPage(accept, { ...facts, rayId, at, zone: zone.name })
  return { status: ending.status, headers: Object.entries({ ...headers, ...more }).flat(), body }
}
