import type { Rule } from '../../core/model/ruleset.js'
import { compile, FIELDS, parse, type Context, type Filter, type Lists, type Uses } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../answer.js'
import type { PhaseName } from '../phases.js'
import { compileKey, type KeyOf } from './key.js'
import type { Limit, Limiter } from './limiter.js'

/** A rule with a `ratelimit`. */
export type LimitedRule = Rule & Required<Pick<Rule, 'ratelimit'>>

/**
 * When a request counts: at its rule, when it goes to the origin, or when its answer is there, because the answer
 * decides whether or how much it counts.
 */
type Moment = 'rule' | 'origin' | 'answer'

/** What a rule counts: requests, or the scores that the origin gives them. */
interface Meter {
  readonly limit: Limit
  readonly moment: Moment
  /** Lower-case name of the origin's header with the score; undefined: each request counts 1. */
  readonly scoreHeader: string | undefined
}

/** A limit that is exceeded by requests with this key. */
export interface Exceeded {
  readonly limit: Limit
  readonly key: string
}

const RESPONSE_FIELDS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ group }) => group === 'response').map(({ name }) => name),
)

const MOST_SCORE = 1_000_000

/** The rate limit of one rule, prepared: counts requests and says which of them the rule acts on. */
export class RuleLimit {
  readonly ruleId: string
  /** What its expressions need. */
  readonly uses: readonly Uses[]
  readonly #meters: readonly Meter[]
  readonly #key: KeyOf
  /** What counts; undefined: what the rule matches. */
  readonly #counts: Filter | undefined
  /** `counts` needs the answer. */
  readonly #needsAnswer: boolean
  readonly #toOrigin: boolean

  /** Throws an ExprError where a characteristic or the counting expression does not compile. */
  constructor({ id, ratelimit }: LimitedRule, { phase, lists }: { phase: PhaseName; lists: Lists }) {
    const { counting_expression: counting, requests_to_origin: toOrigin } = ratelimit
    const expression = counting?.trim() ? parse(counting, { phase, member: 'counting_expression' }) : undefined
    this.ruleId = id
    const { keyOf, uses } = compileKey(ratelimit.characteristics, { phase, lists })
    this.uses = expression ? [...uses, expression.uses] : uses
    this.#key = keyOf
    this.#counts = expression && compile(expression, lists)
    this.#needsAnswer = [...(expression?.uses.fields ?? [])].some(({ name }) => RESPONSE_FIELDS.has(name))
    this.#toOrigin = toOrigin
    const limit = (name: string, threshold: number): Limit => ({
      id: name,
      periodMs: ratelimit.period * 1000,
      threshold,
      mitigationMs: ratelimit.mitigation_timeout * 1000,
    })
    const meters: Meter[] = []
    if (ratelimit.requests_per_period !== undefined)
      meters.push({
        limit: limit(id, ratelimit.requests_per_period),
        moment: this.#needsAnswer ? 'answer' : toOrigin ? 'origin' : 'rule',
        scoreHeader: undefined,
      })
    if (ratelimit.score_per_period !== undefined && ratelimit.score_response_header_name !== undefined)
      meters.push({
        limit: limit(`${id}/score`, ratelimit.score_per_period),
        moment: 'answer',
        scoreHeader: ratelimit.score_response_header_name.toLowerCase(),
      })
    this.#meters = meters
  }

  /** Names of what is counted, for {@link Limiter.retain}. */
  get limitIds(): readonly string[] {
    return this.#meters.map(({ limit }) => limit.id)
  }

  /**
   * Counts a request that has come to its rule, or has it counted later by `tally`, and gives what is exceeded where the
   * rule acts on it. `matched`: the rule's expression is true. Requests that the rule does not match can count too, where
   * it has a counting expression of its own.
   */
  judge(limiter: Limiter, tally: Tally, context: Context, matched: boolean): Exceeded | undefined {
    const counts = this.#needsAnswer || (this.#counts ? this.#counts(context) : matched)
    if (!counts && !matched) return undefined
    const key = this.#key(context)
    let exceeded: Exceeded | undefined
    for (const { limit, moment, scoreHeader } of this.#meters) {
      if (counts && moment === 'rule') limiter.count(limit, key)
      // A request that is about to go to the origin is judged as if it had: the one beyond the threshold is stopped.
      const coming = counts && moment === 'origin' ? 1 : 0
      if (matched && exceeded === undefined && limiter.over(limit, key, coming)) exceeded = { limit, key }
      if (counts && moment !== 'rule')
        tally.later({
          ruleId: this.ruleId,
          limit,
          key,
          moment,
          toOrigin: this.#toOrigin,
          counts: this.#needsAnswer ? this.#counts : undefined,
          scoreHeader,
        })
    }
    return exceeded
  }
}

/** Something that will count when the request has gone further. */
interface Due {
  readonly ruleId: string
  readonly limit: Limit
  readonly key: string
  readonly moment: Moment
  /** Counts only where the request reached the origin. */
  readonly toOrigin: boolean
  /** Asked once the answer is there. */
  readonly counts: Filter | undefined
  readonly scoreHeader: string | undefined
}

/** What one request is still to be counted for. Made for each request that comes to a rule with a limit. */
export class Tally {
  readonly #limiter: Limiter
  #due: Due[] = []

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  later(due: Due): void {
    this.#due.push(due)
  }

  /** The rule has answered the request itself. Its answer does not count for it: a limit would keep itself exceeded. */
  answeredBy(ruleId: string): void {
    this.#due = this.#due.filter((due) => due.ruleId !== ruleId)
  }

  /** The request goes to the origin. */
  toOrigin(): void {
    for (const { moment, limit, key } of this.#due) if (moment === 'origin') this.#limiter.count(limit, key)
  }

  /**
   * The answer is there: `context` has its fields, `origin` are the fields as the origin sent them, undefined where the
   * request did not get there. Counts once, however often it is called.
   */
  answered(context: Context, origin: RawHeaders | undefined): void {
    const due = this.#due
    this.#due = []
    for (const { moment, toOrigin, limit, key, counts, scoreHeader } of due) {
      if (moment !== 'answer' || (toOrigin && !origin) || (counts && !counts(context))) continue
      const amount = scoreHeader === undefined ? 1 : scoreOf(origin && headerOf(origin, scoreHeader))
      if (amount > 0) this.#limiter.count(limit, key, amount)
    }
  }
}

/** 0 for what is no whole number from 1 to 1,000,000. */
function scoreOf(text: string | undefined): number {
  const score = text !== undefined && /^\s*\d{1,7}\s*$/.test(text) ? Number(text) : 0
  return score <= MOST_SCORE ? score : 0
}
