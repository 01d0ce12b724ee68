import { kind } from '../store.js'

/** `root` and `zone` are the entry points of a phase; `custom` and `managed` run through an `execute` rule. */
export const RULESET_KINDS = ['managed', 'custom', 'root', 'zone'] as const
export type RulesetKind = (typeof RULESET_KINDS)[number]

/** Counting of requests that match a rule before its action runs. */
export interface RateLimit {
  readonly characteristics: readonly string[]
  /** Period of counting in seconds. */
  readonly period: number
  readonly requests_per_period?: number
  readonly score_per_period?: number
  readonly score_response_header_name?: string
  /** Empty or absent for the rule's expression. */
  readonly counting_expression?: string
  /** Duration of the action in seconds. 0 applies the action while the count exceeds the threshold. */
  readonly mitigation_timeout: number
  readonly requests_to_origin: boolean
}

/** One rule as stored and returned. */
export interface Rule {
  readonly id: string
  /** Changes with the rule, not with its position in the ruleset. */
  readonly version: string
  readonly last_updated: string
  readonly ref: string
  readonly action: string
  readonly action_parameters?: Readonly<Record<string, unknown>>
  readonly expression: string
  readonly description: string
  readonly enabled: boolean
  readonly categories?: readonly string[]
  readonly logging?: { readonly enabled: boolean }
  readonly ratelimit?: RateLimit
  readonly exposed_credential_check?: { readonly username_expression: string; readonly password_expression: string }
}

/** Members that distinguish the versions of a ruleset. */
export interface RulesetVersion {
  readonly version: string
  readonly last_updated: string
  readonly description: string
}

/** A ruleset as the API returns it. */
export interface Ruleset extends RulesetVersion {
  readonly id: string
  readonly name: string
  readonly kind: RulesetKind
  readonly phase: string
  readonly rules: readonly Rule[]
}

/** A stored ruleset with its latest version, and the numbers of the stored older versions, oldest first. */
export interface StoredRuleset {
  readonly ruleset: Ruleset
  readonly older: readonly RulesetVersion[]
}

/** By ruleset id. */
export const RULESETS = kind<StoredRuleset>('ruleset')

/** Older versions, by {@link olderVersionId}. */
export const OLDER_RULESETS = kind<Ruleset>('ruleset_version')
export const olderVersionId = (rulesetId: string, version: string): string => `${rulesetId}.${version}`

/** The entry point of a phase, by the phase name. Each phase of an account or zone has one. */
export const ENTRY_POINTS = kind<{ readonly ruleset_id: string }>('ruleset_entrypoint')

/**
 * The number of execute rules that run a ruleset, by its id, in the scope of the ruleset. There is no record if the
 * number is 0.
 */
export const RULESET_USES = kind<{ readonly rules: number }>('ruleset_uses')
