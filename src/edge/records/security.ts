import type { PhaseName } from '../../rules/phases.js'
import type { RuleMatch } from '../../rules/types.js'

/** The security products of log records, by the phase that their rules run in. */
const SOURCES: Partial<Record<PhaseName, string>> = {
  ddos_l7: 'l7ddos',
  http_request_firewall_custom: 'firewallCustom',
  http_ratelimit: 'rateLimit',
  http_request_firewall_managed: 'firewallManaged',
  http_request_sbfm: 'botFight',
  http_response_firewall_managed: 'firewallManaged',
}

/** Name of a rule's action in log records, and whether it ended the request. Other actions are not listed. */
const ACTIONS: Readonly<Record<string, { readonly name: string; readonly ends: boolean } | undefined>> = {
  block: { name: 'block', ends: true },
  challenge: { name: 'challenge', ends: true },
  js_challenge: { name: 'jschallenge', ends: true },
  managed_challenge: { name: 'managedChallenge', ends: true },
  force_connection_close: { name: 'forceConnectionClose', ends: true },
  log: { name: 'log', ends: false },
  rewrite: { name: 'rewrite', ends: false },
  skip: { name: 'skip', ends: false },
  // The decision is left to another component.
  ddos_dynamic: { name: 'unknown', ends: false },
}

/** A match of a security rule, with the values of log records. */
export interface SecurityMatch {
  readonly match: RuleMatch
  readonly action: string
  readonly source: string
  /** The rule ended the request. */
  readonly ends: boolean
}

/** Returns the matches of security rules, in order. */
export function securityMatches(matches: readonly RuleMatch[]): readonly SecurityMatch[] {
  return matches.flatMap((match) => {
    const source = SOURCES[match.phase]
    const action = ACTIONS[match.action]
    return source && action ? [{ match, source, action: action.name, ends: action.ends }] : []
  })
}
