import type { Source } from '../../api/types.ts'

export type Params = Readonly<Record<string, unknown>>

/** A rule as the API returns it. */
export interface Rule {
  readonly id: string
  readonly ref?: string
  readonly action: string
  readonly action_parameters?: Params
  readonly expression: string
  readonly description?: string
  readonly enabled?: boolean
  readonly ratelimit?: Params
  readonly logging?: Params
  readonly last_updated?: string
  readonly version?: string
  readonly edged_source?: Source
}

export interface Ruleset {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly phase: string
  readonly version: string
  readonly last_updated?: string
  readonly rules?: readonly Rule[]
  readonly edged_source?: Source
}

export const nameOf = ({ description }: Pick<Rule, 'description'>, at: number): string =>
  description === undefined || description === '' ? `Rule ${at + 1}` : description

/** Returns a rule without the members that the service sets. */
export function plainRule(rule: Rule): Params {
  const { id: _id, version: _version, last_updated: _updated, edged_source: _source, ref, ...rest } = rule
  // A name that nobody gave is the id.
  return ref === undefined || ref === rule.id ? rest : { ref, ...rest }
}

type Path = readonly string[]

/** Returns a member of parameters, or undefined. */
export const memberOf = (params: unknown, [name, ...rest]: Path): unknown => {
  if (name === undefined) return params
  if (typeof params !== 'object' || params === null) return undefined
  return memberOf((params as Params)[name], rest)
}

/** Returns parameters with one member set, or without it if the value is undefined. Empty objects go. */
export function withMember(params: Params | undefined, [name, ...rest]: Path, value: unknown): Params | undefined {
  if (name === undefined) return value as Params | undefined
  const old = params?.[name]
  const next = rest.length === 0 ? value : withMember(old as Params | undefined, rest, value)
  const { [name]: _old, ...others } = params ?? {}
  const all =
    next === undefined ? others : params && name in params ? { ...params, [name]: next } : { ...others, [name]: next }
  return Object.keys(all).length === 0 ? undefined : all
}

/** Returns where a rule has to go so that it has a place, counted from 0, among the rules of its phase. */
export const positionAt = (at: number): { readonly index: number } => ({ index: at + 1 })

/** A rule with its place among the rules of its phase, from 0. */
export interface PlacedRule {
  readonly rule: Rule
  readonly at: number
}
