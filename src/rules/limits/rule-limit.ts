import type { Rule } from '../../core/model/ruleset.js'
import { compile, FIELDS, parse, type Context, type Filter, type Lists, type Uses } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { PhaseName } from '../phases.js'
import type { ExchangeObserver } from '../types.js'
import { compileKey, type KeyOf } from './key.js'
import type { Exceeded, Limit, Limiter } from './limiter.js'

/** A rule with a `ratelimit`. */
export type LimitedRule = Rule & Required<Pick<Rule, 'ratelimit'>>

/**
 * When a request counts: at its rule, when it goes to the origin, or when its answer is there, because the response
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

/** A request at a rule that counts. */
export interface CountedRequest {
  readonly context: Context
  /** Has the follower told how the request goes on. */
  follow(follower: ExchangeObserver): void
}

const RESPONSE_FIELDS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ group }) => group === 'response').map(({ name }) => name),
)

const MAX_SCORE = 1_000_000

const scoreLimitId = (ruleId: string): string => `${ruleId}/score`

/** The ids of the limits that a rule can have. */
export const limitIdsOf = ({ id, ratelimit }: Rule): string[] => (ratelimit ? [id, scoreLimitId(id)] : [])

/** The rate limit of one rule, prepared: counts requests and says which of them the rule acts on. */
export class RuleLimit {
  readonly ruleId: string
  /** What its expressions need. */
  readonly uses: readonly Uses[]
  readonly #meters: readonly Meter[]
  readonly #key: KeyOf
  /** What counts; undefined: what the rule matches. */
  readonly #counts: Filter | undefined
  /** `counts` needs the response. */
  readonly #needsResponse: boolean
  readonly #toOrigin: boolean

  /** Throws an ExprError if a characteristic or the counting expression does not compile. */
  constructor({ id, ratelimit }: LimitedRule, { phase, lists }: { phase: PhaseName; lists: Lists }) {
    const { counting_expression: counting, requests_to_origin: toOrigin } = ratelimit
    const expression = counting?.trim() ? parse(counting, { phase, member: 'counting_expression' }) : undefined
    this.ruleId = id
    const { keyOf, uses } = compileKey(ratelimit.characteristics, { phase, lists })
    this.uses = expression ? [...uses, expression.uses] : uses
    this.#key = keyOf
    this.#counts = expression && compile(expression, lists)
    this.#needsResponse = [...(expression?.uses.fields ?? [])].some(({ name }) => RESPONSE_FIELDS.has(name))
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
        moment: this.#needsResponse ? 'answer' : toOrigin ? 'origin' : 'rule',
        scoreHeader: undefined,
      })
    if (ratelimit.score_per_period !== undefined && ratelimit.score_response_header_name !== undefined)
      meters.push({
        limit: limit(scoreLimitId(id), ratelimit.score_per_period),
        moment: 'answer',
        scoreHeader: ratelimit.score_response_header_name.toLowerCase(),
      })
    this.#meters = meters
  }

  /** Requests that the rule does not match can count. */
  get countsUnmatched(): boolean {
    return this.#counts !== undefined
  }

  /**
   * Counts a request that has come to its rule, or has it counted as it goes on, and returns what is exceeded where the
   * rule acts on it. `matched`: the rule's expression is true. Requests that the rule does not match can count too, where
   * it has a counting expression of its own.
   */
  judge(limiter: Limiter, request: CountedRequest, matched: boolean): Exceeded | undefined {
    const { context } = request
    const counts = this.#needsResponse || (this.#counts ? this.#counts(context) : matched)
    if (!counts && !matched) return undefined
    const key = this.#key(context)
    let exceeded: Limit | undefined
    for (const meter of this.#meters) {
      const { limit, moment } = meter
      if (counts && moment === 'rule') limiter.count(limit, key)
      // A request that is about to go to the origin is judged as if it had: the one beyond the threshold is stopped.
      const coming = counts && moment === 'origin' ? 1 : 0
      if (matched && exceeded === undefined && limiter.over(limit, key, coming)) exceeded = limit
      if (counts && moment !== 'rule') {
        const filter = this.#needsResponse ? this.#counts : undefined
        request.follow(new LateCount(limiter, this.ruleId, meter, key, { filter, toOrigin: this.#toOrigin }))
      }
    }
    return exceeded && { limit: exceeded, key, retryAfter: limiter.retryAfter(exceeded, key) }
  }
}

/** Counts one request for one limit when it has gone further. */
class LateCount implements ExchangeObserver {
  readonly #limiter: Limiter
  readonly #ruleId: string
  readonly #meter: Meter
  readonly #key: string
  /** Asked once the response is there. */
  readonly #filter: Filter | undefined
  /** Counts only where the request reached the origin. */
  readonly #toOrigin: boolean
  #endedByRule = false

  constructor(
    limiter: Limiter,
    ruleId: string,
    meter: Meter,
    key: string,
    { filter, toOrigin }: { filter: Filter | undefined; toOrigin: boolean },
  ) {
    this.#limiter = limiter
    this.#ruleId = ruleId
    this.#meter = meter
    this.#key = key
    this.#filter = filter
    this.#toOrigin = toOrigin
  }

  toOrigin(): void {
    const { moment, limit } = this.#meter
    if (moment === 'origin') this.#limiter.count(limit, this.#key)
  }

  endedBy(ruleId: string): void {
    // The rule's own answer does not count for it: a limit would keep itself exceeded.
    if (ruleId === this.#ruleId) this.#endedByRule = true
  }

  responded(context: Context, origin: RawHeaders | undefined): void {
    const { moment, limit, scoreHeader } = this.#meter
    if (moment !== 'answer' || this.#endedByRule || (this.#toOrigin && !origin)) return
    if (this.#filter && !this.#filter(context)) return
    const amount = scoreHeader === undefined ? 1 : scoreOf(origin && headerOf(origin, scoreHeader))
    if (amount > 0) this.#limiter.count(limit, this.#key, amount)
  }
}

/** 0 for what is no whole number from 1 to 1,000,000. */
function scoreOf(text: string | undefined): number {
  const score = text !== undefined && /^\s*\d{1,7}\s*$/.test(text) ? Number(text) : 0
  return score <= MAX_SCORE ? score : 0
}
