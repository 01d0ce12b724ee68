import type { Rule } from '../../core/model/ruleset.js'
import { compile, FIELDS, parse, type Context, type Filter, type Lists, type Uses } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { PhaseName } from '../phases.js'
import type { ExchangeObserver } from '../types.js'
import { compileKey, type KeyOf } from './key.js'
import type { Exceeded, Limit } from '../limit.js'
import type { Limiter } from './limiter.js'

/** A rule with a `ratelimit`. */
export type LimitedRule = Rule & Required<Pick<Rule, 'ratelimit'>>

/**
 * When a request counts. Either at its rule, when it is sent to the origin, or when its response exists, because the
 * response decides whether or how much the request counts.
 */
type Moment = 'rule' | 'origin' | 'response'

/** The amount that a rule counts, either requests, or their scores from the origin. */
interface Meter {
  readonly limit: Limit
  readonly moment: Moment
  /** Lower-case name of the origin's header with the score. If undefined, each request counts 1. */
  readonly scoreHeader: string | undefined
}

/** A request at a rule that counts. */
export interface CountedRequest {
  readonly context: Context
  /** A stored response may be sent instead of one of the origin. */
  readonly mayBeCached: boolean
  /** Registers an observer of the rest of the request. */
  follow(follower: ExchangeObserver): void
  /** Registers a check that is made if the request has to be sent to the origin. The rule acts if it returns a limit. */
  beforeOrigin(check: () => Exceeded | undefined): void
}

const RESPONSE_FIELDS: ReadonlySet<string> = new Set(
  FIELDS.filter(({ group }) => group === 'response').map(({ name }) => name),
)

const MAX_SCORE = 1_000_000

const scoreLimitId = (ruleId: string): string => `${ruleId}/score`

/** Returns the ids of the limits that a rule can have. */
export const limitIdsOf = ({ id, ratelimit }: Rule): string[] => (ratelimit ? [id, scoreLimitId(id)] : [])

/** The prepared rate limit of one rule. Counts requests and returns whether the rule acts on a request. */
export class RuleLimit {
  readonly ruleId: string
  /** Fields, lists and other names that its expressions use. */
  readonly uses: readonly Uses[]
  readonly #meters: readonly Meter[]
  readonly #key: KeyOf
  /** The counted requests. If undefined, the requests that the rule matches. */
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
        moment: this.#needsResponse ? 'response' : toOrigin ? 'origin' : 'rule',
        scoreHeader: undefined,
      })
    if (ratelimit.score_per_period !== undefined && ratelimit.score_response_header_name !== undefined)
      meters.push({
        limit: limit(scoreLimitId(id), ratelimit.score_per_period),
        moment: 'response',
        scoreHeader: ratelimit.score_response_header_name.toLowerCase(),
      })
    this.#meters = meters
  }

  /** Returns whether requests that the rule does not match can count. */
  get countsUnmatched(): boolean {
    return this.#counts !== undefined
  }

  /**
   * Counts a request at its rule, or registers it to be counted later, and returns the exceeded limit if the rule acts
   * on it. `matched` is the result of the rule's expression. Requests that the rule does not match can count too, if it
   * has a separate counting expression.
   */
  judge(limiter: Limiter, request: CountedRequest, matched: boolean): Exceeded | undefined {
    const { context } = request
    const counts = this.#needsResponse || (this.#counts ? this.#counts(context) : matched)
    if (!counts && !matched) return undefined
    const key = this.#key(context)
    const describe = (limit: Limit): Exceeded => ({ limit, key, retryAfter: limiter.retryAfter(limit, key) })
    let exceeded: Limit | undefined
    let later: Limit | undefined
    for (const meter of this.#meters) {
      const { limit, moment } = meter
      const counted = counts && moment === 'rule'
      if (counted) limiter.count(limit, key)
      // A request about to be sent to the origin is judged as already sent. The request beyond the threshold is
      // stopped.
      let coming = counts && moment === 'origin' ? 1 : 0
      if (coming > 0 && request.mayBeCached) {
        coming = 0
        later = limit
      }
      if (matched && exceeded === undefined && limiter.over(limit, key, coming, counted)) exceeded = limit
      if (counts && moment !== 'rule') {
        const filter = this.#needsResponse ? this.#counts : undefined
        request.follow(new LateCount(limiter, this.ruleId, meter, key, { filter, toOrigin: this.#toOrigin }))
      }
    }
    const last = later
    if (matched && last && !exceeded)
      request.beforeOrigin(() => (limiter.over(last, key, 1) ? describe(last) : undefined))
    return exceeded && describe(exceeded)
  }
}

/** Counts one request for one limit at a later moment. */
class LateCount implements ExchangeObserver {
  readonly #limiter: Limiter
  readonly #ruleId: string
  readonly #meter: Meter
  readonly #key: string
  /** Evaluated after the response exists. */
  readonly #filter: Filter | undefined
  /** Counts only if the request reached the origin. */
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
    // The rule's own response does not count for it, because a limit would keep itself exceeded.
    if (ruleId === this.#ruleId) this.#endedByRule = true
  }

  responded(context: Context, origin: RawHeaders | undefined): void {
    const { moment, limit, scoreHeader } = this.#meter
    if (moment !== 'response' || this.#endedByRule || (this.#toOrigin && !origin)) return
    if (this.#filter && !this.#filter(context)) return
    const amount = scoreHeader === undefined ? 1 : scoreOf(origin && headerOf(origin, scoreHeader))
    if (amount > 0) this.#limiter.count(limit, this.#key, amount)
  }
}

/** Returns the score, or 0 if the text is not a whole number from 1 to 1,000,000. */
function scoreOf(text: string | undefined): number {
  const score = text !== undefined && /^\s*\d{1,7}\s*$/.test(text) ? Number(text) : 0
  return score <= MAX_SCORE ? score : 0
}
