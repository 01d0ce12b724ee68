import { isDeepStrictEqual } from 'node:util'
import { InvalidInput, type Issue } from '../../core/errors.js'
import type { RateLimit, Rule, Ruleset, RulesetKind } from '../../core/model/ruleset.js'
import { ACTIONS } from '../actions/index.js'
import { repeats } from '../actions/shared.js'
import type { Position, RateLimitInput, RuleInput } from './rule-input.js'

// Rulesets are values. Each function accepts one and returns the next, with the next version. The input has been
// checked.

/** Dependencies of an edit. */
export interface Making {
  /** The time of the edit, as {@link timestamp} formats it. */
  readonly now: string
  readonly newId: () => string
}

/** Returns a time in the format of rulesets: UTC with six digits of the second. */
export const timestamp = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z')

export interface NewRuleset {
  readonly name: string
  readonly kind: RulesetKind
  readonly phase: string
  readonly description?: string
  readonly rules?: readonly RuleInput[]
}

/** Creates the first version of a ruleset. */
export function createRuleset(
  { name, kind, phase, description = '', rules = [] }: NewRuleset,
  making: Making,
): Ruleset {
  const id = making.newId()
  return {
    id,
    name,
    description,
    kind,
    version: '1',
    last_updated: making.now,
    phase,
    rules: placed([], rules, making),
  }
}

/** Replaces the members in the input. Rules known by id, else by ref, keep their identity. */
export function replaceRuleset(
  old: Ruleset,
  { description = old.description, rules }: { readonly description?: string; readonly rules?: readonly RuleInput[] },
  making: Making,
): Ruleset {
  return next({ ...old, description, rules: rules ? placed(old.rules, rules, making) : old.rules }, making)
}

/** Adds a rule at the end, or at `position`. */
export function addRule(old: Ruleset, input: RuleInput, position: Position | undefined, making: Making): Ruleset {
  if (old.rules.some(({ id }) => id === input.id))
    throw new InvalidInput([{ pointer: '/id', message: 'is already the id of a rule' }])
  const rule = ruleOf(input, undefined, making)
  assertUniqueRef(old.rules, rule)
  return next({ ...old, rules: inserted(old.rules, rule, position) }, making)
}

/**
 * Replaces a rule of the ruleset by `input` and moves it to `position`. Returns `old` itself if nothing changes.
 */
export function changeRule(
  old: Ruleset,
  ruleId: string,
  input: RuleInput,
  position: Position | undefined,
  making: Making,
): Ruleset {
  const others = old.rules.filter(({ id }) => id !== ruleId)
  const changed = ruleOf(input, ruleIn(old, ruleId), making)
  assertUniqueRef(others, changed)
  const rules = position
    ? inserted(others, changed, position)
    : old.rules.map((rule) => (rule.id === ruleId ? changed : rule))
  return rules.every((rule, index) => rule === old.rules[index]) ? old : next({ ...old, rules }, making)
}

/** Removes a rule. */
export const removeRule = (old: Ruleset, ruleId: string, making: Making): Ruleset =>
  next({ ...old, rules: old.rules.filter(({ id }) => id !== ruleId) }, making)

/**
 * Returns a stored rule with changed members, in the form of a request. Parameters are dropped if only the action changes.
 */
export function patched(rule: Rule, patch: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { version: _version, last_updated: _updated, ...kept } = rule
  const merged: Record<string, unknown> = { ...kept, ...patch }
  const other = 'action' in patch && patch['action'] !== rule.action
  if (other && !('action_parameters' in patch)) delete merged['action_parameters']
  return merged
}

/** Returns the rule of that id. Undefined if the ruleset does not contain it. */
export const ruleIn = (ruleset: Ruleset, ruleId: string): Rule | undefined =>
  ruleset.rules.find(({ id }) => id === ruleId)

const next = (ruleset: Ruleset, { now }: Making): Ruleset => ({
  ...ruleset,
  version: String(Number(ruleset.version) + 1),
  last_updated: now,
})

/** Returns a whole list of rules, in its order, each with the retained members of its stored rule. */
function placed(old: readonly Rule[], inputs: readonly RuleInput[], making: Making): Rule[] {
  const twice = repeatedIds(inputs)
  if (twice.length > 0) throw new InvalidInput(twice)
  const known = matched(old, inputs)
  const rules = inputs.map((input, index) => ruleOf(input, known[index], making))
  const repeated = repeats('/rules', rules, ({ ref }: Rule) => ref, 'ref')
  if (repeated.length > 0) throw new InvalidInput(repeated)
  return rules
}

function repeatedIds(inputs: readonly RuleInput[]): Issue[] {
  const seen = new Set<string>()
  return inputs.flatMap(({ id }, index) => {
    if (id === undefined) return []
    if (seen.has(id)) return [{ pointer: `/rules/${index}/id`, message: 'occurs twice' }]
    seen.add(id)
    return []
  })
}

/**
 * Returns the stored rule of each input. This is the rule with its id, or else the rule with its ref that no id has
 * claimed.
 */
function matched(old: readonly Rule[], inputs: readonly RuleInput[]): (Rule | undefined)[] {
  const byId = new Map(old.map((rule) => [rule.id, rule]))
  const claimed = new Set(inputs.flatMap(({ id }) => (id !== undefined && byId.has(id) ? [id] : [])))
  const byRef = new Map(old.filter(({ id }) => !claimed.has(id)).map((rule) => [rule.ref, rule]))
  return inputs.map(({ id, ref }) => {
    const rule = (id !== undefined && byId.get(id)) || (ref !== undefined && byRef.get(ref)) || undefined
    if (rule && rule.id !== id) byRef.delete(rule.ref)
    return rule
  })
}

/** Returns the rule for an input. Returns the old rule itself if nothing changed. */
function ruleOf(input: RuleInput, old: Rule | undefined, { now, newId }: Making): Rule {
  const id = old?.id ?? newId()
  const body = bodyOf(input, id)
  if (old) {
    const { id: _id, version, last_updated: _updated, ...oldBody } = old
    if (isDeepStrictEqual(body, oldBody)) return old
    return { id, version: String(Number(version) + 1), last_updated: now, ...body }
  }
  return { id, version: '1', last_updated: now, ...body }
}

function bodyOf(input: RuleInput, id: string): Omit<Rule, 'id' | 'version' | 'last_updated'> {
  const { action, action_parameters: params, categories, logging, ratelimit, exposed_credential_check: check } = input
  return {
    ref: input.ref ?? id,
    action,
    ...(params && { action_parameters: ACTIONS.get(action)?.stored(params) ?? params }),
    expression: input.expression,
    description: input.description ?? '',
    enabled: input.enabled ?? true,
    ...(categories && { categories }),
    ...(logging && { logging }),
    ...(ratelimit && { ratelimit: limitOf(ratelimit) }),
    ...(check && { exposed_credential_check: check }),
  }
}

const limitOf = (input: RateLimitInput): RateLimit => ({
  ...input,
  mitigation_timeout: input.mitigation_timeout ?? 0,
  requests_to_origin: input.requests_to_origin ?? false,
})

function assertUniqueRef(others: readonly Rule[], { ref }: Rule): void {
  if (others.some((other) => other.ref === ref))
    throw new InvalidInput([{ pointer: '/ref', message: 'is the ref of another rule of the ruleset' }])
}

/** Returns a copy of the list with the rule at its position. */
function inserted(others: readonly Rule[], rule: Rule, position: Position | undefined): Rule[] {
  const rules = [...others]
  rules.splice(placeIn(others, position), 0, rule)
  return rules
}

function placeIn(others: readonly Rule[], { before, after, index }: Position = { after: '' }): number {
  if (index !== undefined) {
    if (index <= others.length + 1) return index - 1
    throw new InvalidInput([{ pointer: '/position/index', message: `must not be above ${others.length + 1}` }])
  }
  if (before === '') return 0
  if (after === '' || (before === undefined && after === undefined)) return others.length
  const at = others.findIndex(({ id }) => id === (before ?? after))
  if (at >= 0) return before === undefined ? at + 1 : at
  const member = before === undefined ? 'after' : 'before'
  throw new InvalidInput([{ pointer: `/position/${member}`, message: 'must be the id of another rule of the ruleset' }])
}
