import type { RulesetKind } from '../core/model/ruleset.js'

export type Level = 'account' | 'zone'
export type Layer = 'network' | 'request' | 'response'

/** A point in the life of a request at which rulesets run. */
export interface PhaseSpec {
  readonly name: string
  readonly title: string
  readonly layer: Layer
  /** Levels that can have an entry point: `root` for accounts, `zone` for zones. */
  readonly levels: readonly Level[]
  /** The kinds of rulesets that execute rules of this phase can run. */
  readonly executes?: readonly ('custom' | 'managed')[]
  /** Rules count requests: `required` on all except execute rules; `allowed` if a rule may have a limit. */
  readonly ratelimit?: 'required' | 'allowed'
  /** Rules may check for credentials that were exposed elsewhere. */
  readonly credentials?: true
}

const ACCOUNT = ['account'] as const
const ZONE = ['zone'] as const
const BOTH = ['account', 'zone'] as const
const MANAGED = ['managed'] as const
const ANY = ['custom', 'managed'] as const

/**
 * Every phase that a ruleset can belong to, in execution order (network, request, then response). Rules of the account
 * run before rules of the zone. `http_ratelimit` is listed once. Its rules run again on the response if they read it.
 */
export const PHASES = [
  { name: 'ddos_l4', title: 'Network DDoS protection', layer: 'network', levels: ACCOUNT, executes: MANAGED },
  { name: 'magic_transit', title: 'Network firewall', layer: 'network', levels: ACCOUNT },
  {
    name: 'magic_transit_managed',
    title: 'Managed network firewall',
    layer: 'network',
    levels: ACCOUNT,
    executes: MANAGED,
  },
  {
    name: 'magic_transit_ratelimit',
    title: 'Network rate limits',
    layer: 'network',
    levels: ACCOUNT,
    ratelimit: 'required',
  },
  {
    name: 'magic_transit_ids_managed',
    title: 'Intrusion detection',
    layer: 'network',
    levels: ACCOUNT,
    executes: MANAGED,
  },

  { name: 'http_request_sanitize', title: 'URL normalisation', layer: 'request', levels: ZONE },
  { name: 'http_request_dynamic_redirect', title: 'Single redirects', layer: 'request', levels: ZONE },
  { name: 'http_request_transform', title: 'URL rewrites', layer: 'request', levels: ZONE },
  { name: 'http_config_settings', title: 'Configuration rules', layer: 'request', levels: ZONE },
  { name: 'http_request_origin', title: 'Origin rules', layer: 'request', levels: ZONE },
  { name: 'ddos_l7', title: 'HTTP DDoS protection', layer: 'request', levels: BOTH, executes: MANAGED },
  {
    name: 'http_request_firewall_custom',
    title: 'Custom firewall rules',
    layer: 'request',
    levels: BOTH,
    executes: ANY,
    ratelimit: 'allowed',
    credentials: true,
  },
  {
    name: 'http_ratelimit',
    title: 'Rate limits',
    layer: 'request',
    levels: BOTH,
    executes: ANY,
    ratelimit: 'required',
    credentials: true,
  },
  {
    name: 'http_request_firewall_managed',
    title: 'Managed firewall rules',
    layer: 'request',
    levels: BOTH,
    executes: ANY,
    ratelimit: 'allowed',
    credentials: true,
  },
  { name: 'http_request_sbfm', title: 'Bot protection', layer: 'request', levels: ZONE },
  { name: 'http_request_redirect', title: 'Bulk redirects', layer: 'request', levels: ACCOUNT },
  { name: 'http_request_late_transform', title: 'Request header rewrites', layer: 'request', levels: ZONE },
  { name: 'http_request_cache_settings', title: 'Cache rules', layer: 'request', levels: ZONE },

  { name: 'http_response_cache_settings', title: 'Cache rules for responses', layer: 'response', levels: ZONE },
  { name: 'http_custom_errors', title: 'Custom errors', layer: 'response', levels: BOTH },
  { name: 'http_response_headers_transform', title: 'Response header rewrites', layer: 'response', levels: ZONE },
  { name: 'http_response_compression', title: 'Compression rules', layer: 'response', levels: ZONE },
  {
    name: 'http_response_firewall_managed',
    title: 'Sensitive data detection',
    layer: 'response',
    levels: BOTH,
    executes: ANY,
  },
  { name: 'http_log_custom_fields', title: 'Custom log fields', layer: 'response', levels: ZONE },
] as const satisfies readonly PhaseSpec[]

export type PhaseName = (typeof PHASES)[number]['name']
export type Phase = PhaseSpec & { readonly name: PhaseName }

const BY_NAME: ReadonlyMap<string, Phase> = new Map(PHASES.map((phase) => [phase.name, phase]))

/** Returns the phase of that name. Undefined if the phase does not exist. */
export const phaseNamed = (name: string): Phase | undefined => BY_NAME.get(name)

/** The kind of the entry points of accounts and of zones. */
export const ENTRY_KIND = { account: 'root', zone: 'zone' } as const

/** Returns the kinds of rulesets that an account or a zone can create for a phase. */
export function kindsOf(phase: PhaseSpec, level: Level): readonly RulesetKind[] {
  if (!phase.levels.includes(level)) return []
  return [ENTRY_KIND[level], ...(phase.executes ?? [])]
}

/** Request phases after the phases that rewrite the address and choose settings. */
export const AFTER_SETTINGS: ReadonlySet<PhaseName> = new Set(
  PHASES.slice(PHASES.findIndex(({ name }) => name === 'http_config_settings') + 1).map(({ name }) => name),
)
