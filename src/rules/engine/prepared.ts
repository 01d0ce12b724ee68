import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Rule, Ruleset } from '../../core/model/ruleset.js'
import {
  compile,
  compileValue,
  parse,
  parseValue,
  RuleIndex,
  type Expression,
  type Filter,
  SCHEME,
  type Uses,
} from '../../expr/index.js'
import { ACTIONS } from '../actions/index.js'
import { needsBody } from '../fields/index.js'
import { phaseNamed, type Level } from '../phases.js'
import type { MatchCounters } from './match-counters.js'
import type { ActionContext, Condition, Effect, PreparedRule, PreparedRuleset, RuleDeps } from '../types.js'

export interface PrepareOptions {
  readonly level: Level
  readonly accountId: string
  readonly parts: RuleDeps
  readonly tallies: MatchCounters
  readonly log: Log
}

const NOTHING: Readonly<Record<string, unknown>> = {}
const EVERYTHING = parse('true')
const NEVER = parse('false')
const SCORE = SCHEME.field('cf.waf.score')
const IDLE: Effect = () => false

/**
 * Compiles a ruleset. A rule that cannot be compiled never matches, which is logged and counted: data of an older
 * version must not keep the others from running.
 */
export function prepareRuleset(
  { id, name: title, description, version, kind, phase: phaseName, rules }: Ruleset,
  { level, accountId, parts, tallies, log }: PrepareOptions,
): PreparedRuleset {
  const phase = phaseNamed(phaseName)
  if (!phase) throw new TypeError(`there is no phase ${phaseName}`)
  const lists = parts.lists(accountId)
  let readsBody = false
  let readsScore = false
  const note = (uses: Uses) => {
    readsBody ||= needsBody(uses)
    readsScore ||= SCORE !== undefined && uses.fields.has(SCORE)
  }
  const contextOf = (rule: Rule): ActionContext => ({
    place: { phase, kind, level, credentials: rule.exposed_credential_check !== undefined },
    accountId,
    lists,
    parts,
    value(text) {
      const expression = parseValue(text)
      note(expression.uses)
      return compileValue(expression, lists)
    },
  })
  const effect = (name: string, rule: Rule, params = NOTHING): Effect => {
    const action = ACTIONS.get(name)
    if (!action) throw new TypeError(`there is no action ${name}`)
    return action.prepare(params, contextOf(rule))
  }

  const expressions: Expression[] = []
  const prepared = rules.map((rule): PreparedRule => {
    const tally = tallies.of({ phase: phase.name, ruleset: id, rule: rule.id, action: rule.action })
    const { action } = rule
    // Not `...` before other members: such objects have a hidden class each.
    const ready = (loaded: boolean, own: Effect, condition?: Condition, filter?: Filter): PreparedRule => {
      const enabled = loaded && rule.enabled
      return { rule, loaded, enabled, action, effect: own, leastScore: undefined, condition, filter, tally, logged }
    }
    const logged = rule.action !== 'skip' || rule.logging?.enabled !== false
    try {
      const expression = parse(rule.expression)
      const condition = parts.condition(rule, contextOf(rule))
      const own = effect(rule.action, rule, rule.action_parameters)
      const filter = condition?.always ? compile(expression, lists) : undefined
      note(expression.uses)
      readsBody ||= condition?.readsBody === true
      expressions.push(filter ? EVERYTHING : expression)
      return ready(true, own, condition, filter)
    } catch (error) {
      tally.failures++
      log.error({ event: 'rule_broken', ruleset: id, version, rule: rule.id, reason: messageOf(error) })
      expressions.push(NEVER)
      return ready(false, IDLE)
    }
  })
  const index = new RuleIndex(expressions, lists)
  const facts = { id, name: title, description, version, kind, phase: phase.name, level }
  return { ...facts, rules: prepared, index, readsBody, readsScore, effect }
}
