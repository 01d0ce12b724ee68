/*
 * All fields of the rules language that the proxy supports, in one table. Contexts for single requests are created from
 * this table. Values are read on first use and cached until `forget`, so that they do not change within a phase.
 */
import {
  ADDED_FIELDS,
  FIELDS,
  Getters,
  REQUEST_GETTERS,
  REQUEST_STEPS,
  SCHEME,
  type Context,
  type FieldInfo,
  type Getter,
  type Uses,
  type Value,
} from '../../expr/index.js'
import type { RuleExchange } from '../types.js'
import { AGENT_GETTERS } from './agents.js'
import { RESPONSE_GETTERS } from './response.js'
import { BODY_GETTERS } from './body.js'
import { EDGE_GETTERS } from './edge.js'
import { GEO_GETTERS } from './geo.js'
import { HEADER_GETTERS } from './request-headers.js'
import { FieldSource, type FieldDeps } from './source.js'
import { VOUCHABLE } from './trusted.js'

const OWN: Readonly<Record<string, Getter<FieldSource>>> = {
  ...REQUEST_GETTERS,
  ...HEADER_GETTERS,
  ...BODY_GETTERS,
  ...GEO_GETTERS,
  ...EDGE_GETTERS,
  ...AGENT_GETTERS,
  ...RESPONSE_GETTERS,
}

const NONE = () => undefined

/** Returns the value from a trusted proxy, which takes precedence over our own. */
function trustedFields(name: string): Getter<FieldSource> {
  const own = OWN[name] ?? NONE
  return (source, budget) => source.exchange.trustedFields?.get(name) ?? own(source, budget)
}

/** Returns the total of score rules, added to the value from a trusted proxy. Missing if there is neither. */
function score({ exchange }: FieldSource): Value | undefined {
  const sent = exchange.trustedFields?.get('cf.waf.score')
  return exchange.decisions.score === undefined ? sent : exchange.decisions.score + Number(sent ?? 0)
}

/** Getters of the fields, by slot. */
export const FIELD_GETTERS: Getters<FieldSource> = new Getters(SCHEME, {
  ...OWN,
  ...Object.fromEntries(VOUCHABLE.map((name) => [name, trustedFields(name)])),
  'cf.waf.score': score,
  ...Object.fromEntries(ADDED_FIELDS.map(({ name, read }) => [name, ({ exchange }: FieldSource) => read(exchange)])),
})

/** The names of the fields that this proxy determines itself. */
export const OWN_FIELDS: readonly string[] = Object.keys(OWN)

/** Returns the context of one request, for all its phases. */
export function fieldContext(exchange: RuleExchange, parts: FieldDeps): Context {
  return FIELD_GETTERS.context(new FieldSource(exchange, parts), REQUEST_STEPS)
}

/** Returns the slots of some fields, for `Context.forget`. */
function slotsOf(which: (field: FieldInfo) => boolean): readonly number[] {
  return FIELDS.filter(which).flatMap(({ name }) => SCHEME.field(name)?.index ?? [])
}

/** Slots that rules rewriting a request change, cleared after a phase with such changes. */
export const REWRITTEN_SLOTS = slotsOf(({ mutable }) => mutable === true)

/** Slots that a response, or a change of the response, sets. */
export const RESPONSE_SLOTS = slotsOf(
  ({ name }) => /^(?:raw\.)?http\.response\./.test(name) || /^cf\.(?:response|timings)\./.test(name),
)

/** Slots that a score rule changes. This is the only value that rules of the same phase see change. */
export const SCORE_SLOTS = slotsOf(({ name }) => name === 'cf.waf.score')

const BODY_FIELDS: ReadonlySet<string> = new Set(
  FIELDS.flatMap(({ name, group }) => (group === 'request_body' ? [name] : [])),
)

/**
 * Returns whether an expression reads the body of the request, so that its beginning must be read before the rules run.
 */
export function needsBody({ fields }: Uses): boolean {
  for (const { name } of fields) if (BODY_FIELDS.has(name)) return true
  return false
}

/** Fields that estimate how suspicious a client or a request is. */
const SCORE = /^cf\.(?:threat_score$|bot_management\.score$|waf\.score\b)/

/** Returns whether an expression reads a score of the client or of the request. */
export function hasScore({ fields }: Uses): boolean {
  for (const { name } of fields) if (SCORE.test(name)) return true
  return false
}
