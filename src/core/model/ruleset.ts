import { kind } from '../store.js'

/** `root` and `zone` are the entry points of a phase; `custom` and `managed` run through an `execute` rule. */
export const RULESET_KINDS = ['managed', 'custom', 'root', 'zone'] as const
export type RulesetKind = (typeof RULESET_KINDS)[number]

/** How requests that match a rule are counted before its action is taken. */
export interface RateLimit {
  readonly characteristics: readonly string[]
  /** Seconds over which requests are counted. */
  readonly period: number
  readonly requests_per_period?: number
  readonly score_per_period?: number
  readonly score_response_header_name?: string
  /** Empty or absent: the rule's expression. */
  readonly counting_expression?: string
  /** Seconds that the action lasts once begun; 0: while the count stays over the threshold. */
  readonly mitigation_timeout: number
  readonly requests_to_origin: boolean
}

/** One rule as it is stored and answered. */
export interface Rule {
  readonly id: string
  /** Changes with the rule, not with its place in the ruleset. */
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

/** What tells the versions of a ruleset apart. */
export interface RulesetVersion {
  readonly version: string
  readonly last_updated: string
  readonly description: string
}

/** A ruleset as the API answers it. */
export interface Ruleset extends RulesetVersion {
  readonly id: string
  readonly name: string
  readonly kind: RulesetKind
  readonly phase: string
  readonly rules: readonly Rule[]
}

/** What is stored of a ruleset: its latest version, and which older ones are kept, oldest first. */
export interface StoredRuleset {
  readonly ruleset: Ruleset
  readonly older: readonly RulesetVersion[]
}

/** By ruleset id. */
export const RULESETS = kind<StoredRuleset>('ruleset')

/** Older versions, by {@link olderVersionId}. */
export const OLDER_RULESETS = kind<Ruleset>('ruleset_version')
export const olderVersionId = (rulesetId: string, version: string): string => `${rulesetId}.${version}`

/** Which ruleset is the entry point, by name of the phase: one for each phase of an account or zone. */
export const ENTRY_POINTS = kind<{ readonly ruleset_id: string }>('ruleset_entrypoint')

/** How many execute rules run a ruleset, by its id, in its own scope; no record while there are none. */
export const RULESET_USES = kind<{ readonly rules: number }>('ruleset_uses')
