import type { RuleExchange, TerminalAction } from '../../rules/types.js'
import type { Challenges } from './challenges.js'

/** Returns the response that challenges a client. */
export function challenged(
  challenges: Pick<Challenges, 'page'>,
  exchange: RuleExchange,
): Exclude<TerminalAction, { kind: 'close' }> {
  const mitigated = { 'cf-mitigated': 'challenge' }
  const page = challenges.page(exchange)
  if (!page) return { kind: 'page', status: 403, reason: 'challenge_required', headers: mitigated }
  const headers = Object.entries({ ...page.headers, ...mitigated }).flat()
  return { kind: 'response', status: 403, headers, body: page.body }
}

/** Returns the response that challenges a client, or undefined if the client has passed a challenge. */
export const challengeResponse = (
  challenges: Pick<Challenges, 'page' | 'clearance'>,
  exchange: RuleExchange,
): Exclude<TerminalAction, { kind: 'close' }> | undefined =>
  challenges.clearance(exchange) === undefined ? challenged(challenges, exchange) : undefined
