import { messageOf } from '../../core/errors.js'
import type { Rule } from '../../core/model/ruleset.js'
import { BUDGET_EXCEEDED, type Context } from '../../expr/index.js'
import type { RawHeaders } from '../../http/headers.js'
import { RESPONSE_SLOTS, REWRITTEN_SLOTS, SCORE_SLOTS } from '../fields/index.js'
import type { Exceeded } from '../limit.js'
import { AFTER_SETTINGS, type Level, type PhaseName } from '../phases.js'
import { SkipSet, type SkipParams } from '../skip-set.js'
import type {
  ChallengeKind,
  ExchangeObserver,
  Execution,
  PhaseRules,
  PreparedRule,
  PreparedRuleset,
  RuleExchange,
  RuleRun,
  RunRules,
  TerminalAction,
} from '../types.js'

/** Observes the rules of a traced request. Such a run counts and logs nothing. */
export interface TraceObserver {
  /** Rules with a challenge act as for a client that has passed it. */
  readonly skipsChallenges: boolean
  phase(name: PhaseName): void
  /** Called before the rules of a ruleset are evaluated. `left` is called after them. */
  entered(execution: Execution): void
  /** Called before a rule of the ruleset entered last acts. `acted` follows. */
  acting(at: number): void
  /**
   * `matched` is false if the rule does not match after all. With `last`, no later rule of the ruleset is evaluated.
   */
  acted(matched: boolean, last: boolean): void
  left(): void
}

/** A limit that a request exceeds only if it is sent to the origin. */
interface Gate {
  readonly check: () => Exceeded | undefined
  readonly phase: PhaseName
  readonly ruleset: PreparedRuleset
  readonly prepared: PreparedRule
}

/** Maximum nesting of rulesets that run rulesets. */
const MAX_NESTED = 8
/**
 * Maximum number of rulesets that execute rules run for one request: 1,000 rules that run 1,000 each would take
 * minutes.
 */
const MAX_EXECUTED = 1000

/** Cost of evaluating a rule, in addition to its expression, which costs 1 per 8 characters. */
const RULE_WORK = 16
/** Maximum work of rules for one request, about 30 ms. This is ten times the work of 10,000 ordinary rules. */
const MAX_WORK = 4_000_000
/** Minimum time between two log lines of a rule that is beyond the budget. */
const OVER_BUDGET_LOG_MS = 60_000

const NO_PHASES: ReadonlySet<PhaseName> = new Set()

const CHALLENGE_ACTIONS: ReadonlySet<string> = new Set<ChallengeKind>([
  'challenge',
  'js_challenge',
  'managed_challenge',
])

/**
 * The run of one request through the rules of its zone. Changes by rules are visible to rules of later phases only, so
 * that all rules of a phase evaluate the same request.
 */
export class Run implements RuleRun {
  readonly exchange: RuleExchange
  /** The fields of the request as the current phase sees them. */
  readonly context: Context
  readonly #rules: RunRules
  readonly #observer: TraceObserver | undefined
  #phase: PhaseName = 'http_request_sanitize'
  #level: Level = 'account'
  #skips: SkipSet | undefined
  #changes: (() => void)[] = []
  /** Header fields and tags that rules have changed so far. */
  #changedFields = 0
  #followers: ExchangeObserver[] = []
  /** Checks that are made before the request is sent to the origin, with the rules that act then. */
  #gates: Gate[] = []
  /** The rule that is evaluated. */
  #asked: Pick<Gate, 'ruleset' | 'prepared'> | undefined
  #leaving: 'ruleset' | 'phase' | undefined
  #nested = 0
  #executed = 0
  /** Number of changes of the total of scores. */
  #scored = 0
  /** Work of the rules that were evaluated, see {@link MAX_WORK}. */
  #work = 0
  /** The limit that the request exceeds at the current rule. Set by the rule's condition. */
  exceeded: Exceeded | undefined

  constructor(rules: RunRules, exchange: RuleExchange, context: Context, observer?: TraceObserver) {
    this.exchange = exchange
    this.context = context
    this.#rules = rules
    this.#observer = observer
  }

  /** Runs the request phases in order, all but the phases of `except`, until a rule ends the request. */
  request(except: ReadonlySet<PhaseName> = NO_PHASES): TerminalAction | undefined {
    let isSettled = false
    for (const phase of this.#rules.request) {
      if (except.has(phase.phase)) continue
      if (!isSettled && AFTER_SETTINGS.has(phase.phase)) {
        isSettled = true
        if (this.exchange.settle()) this.context.forget(REWRITTEN_SLOTS)
      }
      const ending = this.#run(phase)
      if (ending) return ending
    }
    return undefined
  }

  /** Runs the rules whose limit the request exceeds if it is sent to the origin, until a rule ends the request. */
  beforeOriginIsAsked(): TerminalAction | undefined {
    const gates = this.#gates
    this.#gates = []
    for (const { check, phase, ruleset, prepared } of gates) {
      this.exceeded = check()
      if (!this.exceeded) continue
      this.#phase = phase
      const ending = this.#act(ruleset, prepared)
      if (ending) return ending
    }
    return undefined
  }

  /** Notifies observers that the request is sent to the origin. */
  toOrigin(): void {
    for (const follower of this.#followers) follower.toOrigin()
  }

  /** Rules or observers need the response. */
  get awaitsResponse(): boolean {
    return this.#rules.response.length > 0 || this.#followers.length > 0 || this.exchange.decisions.cache !== undefined
  }

  /** Reads the response fields again, after the response was created or changed. */
  responded(): void {
    this.context.forget(RESPONSE_SLOTS)
  }

  /** Runs one response phase, if it has rules. */
  response(name: PhaseName): TerminalAction | undefined {
    const phase = this.#rules.response.find(({ phase }) => phase === name)
    return phase && this.#run(phase)
  }

  /** Notifies observers that the response is complete. */
  finish(origin: RawHeaders | undefined): void {
    const followers = this.#followers
    this.#followers = []
    for (const follower of followers) {
      try {
        follower.responded(this.context, origin)
      } catch (error) {
        // A count whose expression is beyond the budget is skipped. Its rule has been reported if it was evaluated.
        if (error !== BUDGET_EXCEEDED) throw error
      }
    }
  }

  /** Registers an observer, for conditions. */
  follow(follower: ExchangeObserver): void {
    this.#followers.push(follower)
  }

  get mayBeCached(): boolean {
    return this.exchange.mayBeCached
  }

  /** Registers a check for a condition of the current rule. */
  beforeOrigin(check: () => Exceeded | undefined): void {
    if (this.#asked) this.#gates.push({ check, phase: this.#phase, ...this.#asked })
  }

  /** Registers a change for an effect. The change is made at the end of the phase, in the order of the rules. */
  change(make: () => void, fields = 0): void {
    if (fields > 0) {
      // Each change passes over all fields, and over the fields that earlier changes have added.
      this.#changedFields += fields
      const { headers, response } = this.exchange
      this.context.spend(fields * ((response?.headers ?? headers).length + 2 * this.#changedFields))
    }
    this.#changes.push(make)
  }

  /** Adds to the total of scores for an effect. Later rules of the same phase read the total. */
  addScore(increment: number): undefined {
    this.exchange.decisions.score = (this.exchange.decisions.score ?? 0) + increment
    this.context.forget(SCORE_SLOTS)
    this.#scored++
  }

  /** Skips, for an effect, the parts that a skip rule names. */
  skip(params: SkipParams): void {
    if (params.ruleset) this.#leaving = 'ruleset'
    if (params.phase) this.#leaving = 'phase'
    this.#skips ??= new SkipSet()
    this.#skips.add(this.#level, params)
  }

  /** Ends the phase for an effect. No further rule of the phase runs. */
  leavePhase(): void {
    this.#leaving = 'phase'
  }

  /**
   * Runs, for an effect, the ruleset that an execute rule names, found by its parameters. Throws if too many were run.
   */
  execute(params: object): TerminalAction | undefined {
    const execution = this.#rules.linked(params)
    if (!execution) return undefined
    if (this.#executed === MAX_EXECUTED) throw new RangeError(`${MAX_EXECUTED} rulesets have been run for the request`)
    this.#executed++
    return this.#runRuleset(execution)
  }

  #run({ phase, entries }: PhaseRules): TerminalAction | undefined {
    this.#phase = phase
    this.#observer?.phase(phase)
    let ending: TerminalAction | undefined
    for (const entry of entries) {
      this.#level = entry.ruleset.level
      this.#leaving = undefined
      if (!this.#skips?.has(this.#level, phase)) ending = this.#runRuleset(entry)
      if (ending) break
    }
    if (this.#changes.length > 0) this.#apply()
    return ending
  }

  #apply(): void {
    for (const make of this.#changes) make()
    this.#changes = []
    this.context.forget(REWRITTEN_SLOTS)
    this.context.forget(RESPONSE_SLOTS)
  }

  #runRuleset(execution: Execution): TerminalAction | undefined {
    const { ruleset, rules } = execution
    if (this.#nested === MAX_NESTED || this.#skips?.has(this.#level, ruleset.id)) return undefined
    this.#nested++
    this.#observer?.entered(execution)
    let ending: TerminalAction | undefined
    let scored = this.#scored
    let candidates = this.#candidates(ruleset)
    for (let i = 0; i < candidates.length && !ending && !this.#leaving; i++) {
      const at = candidates[i]!
      ending = this.#ask(ruleset, at, rules[at]!)
      if (scored !== this.#scored && ruleset.readsScore) {
        scored = this.#scored
        candidates = this.#candidates(ruleset).filter((other) => other > at)
        i = -1
      }
    }
    this.#observer?.left()
    this.#nested--
    if (this.#leaving === 'ruleset') this.#leaving = undefined
    return ending
  }

  #ask(ruleset: PreparedRuleset, at: number, prepared: PreparedRule): TerminalAction | undefined {
    const { rule } = prepared
    this.exceeded = undefined
    if (!prepared.enabled || this.#skips?.hasRule(this.#level, ruleset.id, rule.id)) return undefined
    if (this.#observer) return this.#tryOut(this.#observer, ruleset, at, prepared)
    try {
      this.#charge(rule)
      if (prepared.condition) this.#asked = { ruleset, prepared }
      if (!this.#matches(ruleset, at, prepared)) return undefined
    } catch (error) {
      this.#failed(ruleset, prepared, error)
      return undefined
    }
    return this.#act(ruleset, prepared)
  }

  /** Applies a rule that matches. */
  #act(ruleset: PreparedRuleset, prepared: PreparedRule): TerminalAction | undefined {
    const { rule, counter } = prepared
    let result: TerminalAction | undefined | false
    try {
      result = prepared.effect(this)
    } catch (error) {
      this.#failed(ruleset, prepared, error)
      return undefined
    }
    if (result === false) return undefined
    counter.matches++
    if (prepared.logged)
      this.exchange.matched({
        phase: this.#phase,
        ruleset: ruleset.id,
        rule: rule.id,
        ref: rule.ref,
        description: rule.description,
        action: prepared.action,
      })
    if (result) for (const follower of this.#followers) follower.endedBy(rule.id)
    return result
  }

  /** Returns the rules that may match, or all rules if the budget is too small for the index. */
  #candidates({ index }: PreparedRuleset): readonly number[] {
    try {
      return index.candidates(this.context)
    } catch (error) {
      if (error !== BUDGET_EXCEEDED) throw error
      return index.all
    }
  }

  /** Bounds the number and the length of the expressions that are evaluated for one request. */
  #charge({ expression }: Rule): void {
    this.#work += RULE_WORK + (expression.length >> 3)
    if (this.#work > MAX_WORK) throw BUDGET_EXCEEDED
  }

  /** Rules with a condition never match here, because evaluating the condition would count the request. */
  #tryOut(
    observer: TraceObserver,
    ruleset: PreparedRuleset,
    at: number,
    prepared: PreparedRule,
  ): TerminalAction | undefined {
    if (prepared.condition || (observer.skipsChallenges && CHALLENGE_ACTIONS.has(prepared.action))) return undefined
    let result: TerminalAction | undefined | false = false
    let entered = false
    try {
      this.#charge(prepared.rule)
      if (!this.#matches(ruleset, at, prepared)) return undefined
      entered = true
      observer.acting(at)
      result = prepared.effect(this)
    } catch {
      // As for any other request, a rule that fails does not match.
    }
    const ending = result === false ? undefined : result
    if (entered) observer.acted(result !== false, ending !== undefined || this.#leaving !== undefined)
    return ending
  }

  #matches(ruleset: PreparedRuleset, at: number, { filter, condition, leastScore }: PreparedRule): boolean {
    if (leastScore !== undefined && (this.exchange.decisions.score ?? 0) < leastScore) return false
    const matched = filter ? filter(this.context) : ruleset.index.matches(at, this.context)
    if (condition && (matched || condition.always)) return condition.holds(this, matched) && matched
    return matched
  }

  #failed(ruleset: PreparedRuleset, { rule, counter }: PreparedRule, error: unknown): void {
    // Other failures are logged once per rule, because thousands of requests may cause the same one.
    const repeated = counter.failures++ > 0
    const { log } = this.#rules
    const entry = { ruleset: ruleset.id, rule: rule.id, reason: messageOf(error) }
    if (error !== BUDGET_EXCEEDED) {
      if (!repeated) log.error({ event: 'rule_failed', ...entry })
      return
    }
    counter.overBudget++
    const now = this.exchange.startedMonotonic
    if (now - counter.overBudgetLoggedAt < OVER_BUDGET_LOG_MS) return
    counter.overBudgetLoggedAt = now
    log.warn({ event: 'rule_over_budget', ...entry, ray: this.exchange.rayId })
  }
}
