import type { Log } from '../../core/log.js'
import type { Rule } from '../../core/model/ruleset.js'
import type { Uses } from '../../expr/index.js'
import { challenged } from '../challenge/challenge-response.js'
import type { Challenges } from '../challenge/challenges.js'
import { needsBody } from '../../rules/fields/index.js'
import { CredentialCheck } from '../../rules/limits/exposed-credentials.js'
import { conditionsInForce } from '../../rules/limits/in-force.js'
import type { Limiter } from '../../rules/limits/limiter.js'
import { RuleLimit, type LimitedRule } from '../../rules/limits/rule-limit.js'
import type { ActionContext, Condition, RuleDeps, RuleRun } from '../../rules/types.js'

/** State of clients that rules read: request rates, and which clients passed a challenge. */
export interface ConditionDeps {
  readonly limiter: Limiter
  readonly challenges: Challenges
  readonly log: Log
}

/** Rate limits, checks for exposed credentials and challenges, for the rules. */
export function conditions({ limiter, challenges, log }: ConditionDeps): Pick<RuleDeps, 'challenge' | 'condition'> {
  return {
    // All types have the same page: no service here decides which client deserves which.
    challenge: (kind, run, scored) =>
      (isRelaxed(run) && (scored || kind === 'managed_challenge')) || passed(run)
        ? undefined
        : challenged(challenges, run.exchange),
    condition(rule, context) {
      const conditions: Condition[] = []
      const { ratelimit, exposed_credential_check: check } = conditionsInForce(rule, context.place.phase)
      if (check) conditions.push(credentials(rule.id, check, context))
      if (ratelimit) conditions.push(rateLimit({ ...rule, ratelimit }, context))
      return conditions.length < 2 ? conditions[0] : both(conditions)
    },
  }

  /**
   * Returns whether the client has passed a challenge. Over a rate limit this restarts the count, once per challenge
   * passed: a client that exceeds it again is challenged again.
   */
  function passed({ exchange, exceeded }: RuleRun): boolean {
    const clearance = challenges.clearance(exchange)
    if (!clearance) return false
    if (!exceeded) return true
    const { limit, key } = exceeded
    if (!challenges.redeem(clearance, `${limit.id} ${key}`)) return false
    limiter.reset(limit, key)
    return true
  }

  function rateLimit(rule: LimitedRule, { place, lists }: ActionContext): Condition {
    const limit = new RuleLimit(rule, { phase: place.phase.name, lists })
    return {
      always: limit.countsUnmatched,
      readsBody: readsBody(limit.uses),
      holds(run, matched) {
        run.exceeded = limit.judge(limiter, run, matched)
        return run.exceeded !== undefined
      },
    }
  }

  function credentials(
    rule: string,
    expressions: NonNullable<Rule['exposed_credential_check']>,
    { place, lists }: ActionContext,
  ): Condition {
    const check = new CredentialCheck(expressions, { phase: place.phase.name, lists })
    return {
      always: false,
      readsBody: readsBody(check.uses),
      holds({ exchange, context }, matched) {
        if (matched && check.found(context))
          log.info({
            event: 'credentials_submitted',
            ray: exchange.rayId,
            zone: exchange.zone.id,
            client: exchange.clientAddress,
            rule,
            exposed: 'unknown',
          })
        return false
      },
    }
  }
}

/** Returns whether the security level of the request switches managed challenges and challenges by score off. */
const isRelaxed = ({
  exchange: {
    decisions: { settings },
  },
}: RuleRun): boolean => settings.security_level === 'off' || settings.security_level === 'essentially_off'

const readsBody = (uses: readonly Uses[]): boolean => uses.some(needsBody)

/** Combines several conditions into one that evaluates them all. */
const both = (conditions: readonly Condition[]): Condition => ({
  always: conditions.some(({ always }) => always),
  readsBody: conditions.some((condition) => condition.readsBody),
  holds: (run, matched) =>
    conditions.map((condition) => (matched || condition.always) && condition.holds(run, matched)).every(Boolean),
})
