import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Rule, Ruleset } from '../../core/model/ruleset.js'
import { compileValue, indexedRule, parse, type Filter, type IndexedRule, SCHEME, type Uses } from '../../expr/index.js'
import { ACTIONS } from '../actions/index.js'
import { hasScore, needsBody } from '../fields/index.js'
import { conditionsInForce } from '../limits/in-force.js'
import { parsedFilter, parsedValue } from '../parsed.js'
import { phaseNamed, type Level, type Phase } from '../phases.js'
import type { ActionContext, Condition, Effect, PreparedRule, RuleDeps } from '../types.js'
import type { MatchCounters } from '../match-counters.js'

/** Dependencies of the compilation of a ruleset's rules. */
export interface CompileOptions {
  readonly level: Level
  readonly accountId: string
  readonly parts: RuleDeps
  readonly counters: MatchCounters
  readonly log: Log
}

const NOTHING: Readonly<Record<string, unknown>> = {}
const EVERYTHING = indexedRule(parse('true'))
const SCORE = SCHEME.field('cf.waf.score')

/** The compiled parts of a rule. */
interface Compiled {
  readonly effect: Effect
  readonly indexed: IndexedRule
  readonly condition?: Condition | undefined
  readonly filter?: Filter | undefined
}

/** A rule that cannot be compiled. */
const BROKEN: Compiled = { effect: () => false, indexed: indexedRule(parse('false')) }

/** Compiles the rules of one ruleset, one by one. */
export class RuleCompiler {
  readonly phase: Phase
  readonly lists: ReturnType<RuleDeps['lists']>
  // Not the ruleset, because it would retain rules whose compiled form an earlier version has.
  readonly #id: string
  readonly #version: string
  readonly #kind: Ruleset['kind']
  readonly #options: CompileOptions
  /** Whether expressions of the current rule read the body, or the score. */
  #readsBody = false
  #readsScore = false

  constructor(ruleset: Ruleset, options: CompileOptions) {
    const phase = phaseNamed(ruleset.phase)
    if (!phase) throw new TypeError(`unknown phase ${ruleset.phase}`)
    this.phase = phase
    this.lists = options.parts.lists(options.accountId)
    this.#id = ruleset.id
    this.#version = ruleset.version
    this.#kind = ruleset.kind
    this.#options = options
  }

  /** Compiles a rule. One that cannot be compiled never matches. The failure is logged and counted. */
  compile(rule: Rule): PreparedRule {
    const { counters, log } = this.#options
    const counter = counters.of({ phase: this.phase.name, ruleset: this.#id, rule: rule.id, action: rule.action })
    this.#readsBody = false
    this.#readsScore = false
    try {
      const expression = parsedFilter(rule.expression)
      const condition = this.#options.parts.condition(rule, this.#contextOf(rule))
      const effect = this.effect(rule.action, rule, rule.action_parameters)
      const indexed = indexedRule(expression, this.lists)
      this.#note(expression.uses)
      this.#readsBody ||= condition?.readsBody === true
      return condition?.always
        ? this.#prepared(rule, counter, { effect, indexed: EVERYTHING, condition, filter: indexed.filter })
        : this.#prepared(rule, counter, { effect, indexed, condition })
    } catch (error) {
      counter.failures++
      const reason = messageOf(error)
      log.error({ event: 'rule_broken', ruleset: this.#id, version: this.#version, rule: rule.id, reason })
      return this.#prepared(rule, counter, BROKEN)
    }
  }

  /** Returns the effect of the action `name` for a rule. Throws if its parameters are not valid. */
  effect(name: string, rule: Rule, params = NOTHING): Effect {
    const action = ACTIONS.get(name)
    if (!action) throw new TypeError(`unknown action ${name}`)
    return action.prepare(params, this.#contextOf(rule))
  }

  // No spread before other members, because each such object has its own hidden class.
  #prepared(rule: Rule, counter: PreparedRule['counter'], compiled: Compiled): PreparedRule {
    const loaded = compiled !== BROKEN
    return {
      rule,
      loaded,
      enabled: loaded && rule.enabled,
      action: rule.action,
      effect: compiled.effect,
      leastScore: undefined,
      condition: compiled.condition,
      indexed: compiled.indexed,
      readsBody: this.#readsBody,
      readsScore: this.#readsScore,
      filter: compiled.filter,
      counter,
      logged: rule.action !== 'skip' || rule.logging?.enabled !== false,
    }
  }

  #contextOf(rule: Rule): ActionContext {
    const { level, accountId, parts } = this.#options
    const credentials = rule.exposed_credential_check !== undefined
    return {
      place: { phase: this.phase, kind: this.#kind, level, credentials },
      accountId,
      lists: this.lists,
      parts,
      value: (text) => {
        const expression = parsedValue(text)
        this.#note(expression.uses)
        return compileValue(expression, this.lists)
      },
      isScored: () =>
        conditionsInForce(rule, this.phase).ratelimit?.score_per_period !== undefined ||
        hasScore(parsedFilter(rule.expression).uses),
    }
  }

  /** Records the fields and functions that an expression of the current rule uses. */
  #note(uses: Uses): void {
    this.#readsBody ||= needsBody(uses)
    this.#readsScore ||= SCORE !== undefined && uses.fields.has(SCORE)
  }
}
