import { messageOf } from '../../core/errors.js'
import { letHeapGrow } from '../../core/heap-size.js'
import type { Log } from '../../core/log.js'
import type { Rule, Ruleset } from '../../core/model/ruleset.js'
import {
  compileValue,
  indexedRule,
  parse,
  RuleIndex,
  type Filter,
  type IndexedRule,
  SCHEME,
  unicodeTables,
  type Uses,
} from '../../expr/index.js'
import { ACTIONS } from '../actions/index.js'
import { hasScore, needsBody } from '../fields/index.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import { phaseNamed, type Level } from '../phases.js'
import type { MatchCounters } from './match-counters.js'
import type { ActionContext, Condition, Effect, PreparedRule, PreparedRuleset, RuleDeps } from '../types.js'

export interface PrepareOptions {
  readonly level: Level
  readonly accountId: string
  readonly parts: RuleDeps
  readonly counters: MatchCounters
  readonly log: Log
  /** The previous version, whose compiled rules are reused. */
  readonly previous?: PreparedRuleset | undefined
}

/** Compiling this many rules creates so much garbage that a small heap doubles the time. */
const MANY_RULES = 200

const NOTHING: Readonly<Record<string, unknown>> = {}
const EVERYTHING = indexedRule(parse('true'))
const NEVER = indexedRule(parse('false'))
const SCORE = SCHEME.field('cf.waf.score')
const IDLE: Effect = () => false

/**
 * Compiles a ruleset. Rules that `previous` contains are reused. A rule that cannot be compiled never matches, which is
 * logged and counted: data of an older version must not prevent the others from running.
 */
export function prepareRuleset(ruleset: Ruleset, options: PrepareOptions): PreparedRuleset {
  const steps = preparation(ruleset, options)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/**
 * {@link prepareRuleset} in steps of one rule that has to be compiled, or of one table that it needs first; between
 * them other work can be done.
 */
export function* preparation(
  { id, name: title, description, version, kind, phase: phaseName, rules }: Ruleset,
  { level, accountId, parts, counters, log, previous }: PrepareOptions,
): Generator<undefined, PreparedRuleset> {
  if (rules.length >= MANY_RULES) letHeapGrow()
  const phase = phaseNamed(phaseName)
  if (!phase) throw new TypeError(`unknown phase ${phaseName}`)
  const lists = parts.lists(accountId)
  /** Sources that the expressions of the current rule read. */
  let reads = { body: false, score: false }
  const note = (uses: Uses) => {
    reads.body ||= needsBody(uses)
    reads.score ||= SCORE !== undefined && uses.fields.has(SCORE)
  }
  const contextOf = (rule: Rule): ActionContext => ({
    place: { phase, kind, level, credentials: rule.exposed_credential_check !== undefined },
    accountId,
    lists,
    parts,
    value(text) {
      const expression = parsedValue(text)
      note(expression.uses)
      return compileValue(expression, lists)
    },
    isScored: () => rule.ratelimit?.score_per_period !== undefined || hasScore(parsedFilter(rule.expression).uses),
  })
  const effect = (name: string, rule: Rule, params = NOTHING): Effect => {
    const action = ACTIONS.get(name)
    if (!action) throw new TypeError(`unknown action ${name}`)
    return action.prepare(params, contextOf(rule))
  }
  const known = new Map(previous?.rules.map((prepared) => [prepared.rule.id, prepared]))

  const prepare = (rule: Rule): PreparedRule => {
    const { action } = rule
    const counter = counters.of({ phase: phase.name, ruleset: id, rule: rule.id, action })
    const logged = action !== 'skip' || rule.logging?.enabled !== false
    reads = { body: false, score: false }
    // No spread before other members: each such object has its own hidden class.
    const ready = (
      loaded: boolean,
      own: Effect,
      indexed: IndexedRule,
      condition?: Condition,
      filter?: Filter,
    ): PreparedRule => ({
      rule,
      loaded,
      enabled: loaded && rule.enabled,
      action,
      effect: own,
      leastScore: undefined,
      condition,
      indexed,
      readsBody: reads.body,
      readsScore: reads.score,
      filter,
      counter,
      logged,
    })
    try {
      const expression = parsedFilter(rule.expression)
      const condition = parts.condition(rule, contextOf(rule))
      const own = effect(action, rule, rule.action_parameters)
      const indexed = indexedRule(expression, lists)
      note(expression.uses)
      reads.body ||= condition?.readsBody === true
      return condition?.always
        ? ready(true, own, EVERYTHING, condition, indexed.filter)
        : ready(true, own, indexed, condition)
    } catch (error) {
      counter.failures++
      log.error({ event: 'rule_broken', ruleset: id, version, rule: rule.id, reason: messageOf(error) })
      return ready(false, IDLE, NEVER)
    }
  }

  const prepared: PreparedRule[] = []
  for (const rule of rules) {
    const same = known.get(rule.id)
    if (same && isReady(same, rule)) {
      prepared.push(same)
      continue
    }
    yield* unicodeTables(JSON.stringify(rule))
    prepared.push(prepare(rule))
    yield undefined
  }
  const facts = { id, name: title, description, version, kind, phase: phase.name, level }
  return {
    ...facts,
    rules: prepared,
    index: new RuleIndex(
      prepared.map(({ indexed }) => indexed),
      lists,
    ),
    readsBody: prepared.some(({ readsBody }) => readsBody),
    readsScore: prepared.some(({ readsScore }) => readsScore),
    effect,
  }
}

/**
 * Returns the number of steps of {@link preparation}: rules that are not in the previous version, and tables. Counts to
 * `max` and not much further.
 */
export function stepsToPrepare({ rules }: Ruleset, previous: PreparedRuleset | undefined, max: number): number {
  const known = new Map(previous?.rules.map((prepared) => [prepared.rule.id, prepared]))
  let steps = 0
  for (const rule of rules) {
    if (steps >= max) break
    if (isReady(known.get(rule.id), rule)) continue
    steps += unicodeTables(JSON.stringify(rule)).next().done === true ? 1 : SLOW_STEPS
  }
  return steps
}

/** A table takes as long as this many rules. */
const SLOW_STEPS = 100

/** Returns whether a compiled rule can be used for `rule`. */
const isReady = (prepared: PreparedRule | undefined, rule: Rule): prepared is PreparedRule =>
  prepared?.loaded === true && isSame(prepared.rule, rule)

/**
 * Returns whether a rule has not changed. It is not identical after a read from the store, and a comparison of all
 * members would take longer than everything else; each change sets the time and increases the version.
 */
const isSame = (old: Rule, rule: Rule): boolean =>
  old === rule ||
  (old.version === rule.version &&
    old.last_updated === rule.last_updated &&
    old.expression === rule.expression &&
    old.action === rule.action &&
    old.enabled === rule.enabled)
