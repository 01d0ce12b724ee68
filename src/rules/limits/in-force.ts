import type { Rule } from '../../core/model/ruleset.js'
import type { PhaseSpec } from '../phases.js'

type Conditions = Pick<Rule, 'ratelimit' | 'exposed_credential_check'>

/**
 * Returns the conditions of a rule that its phase applies. Every rule can have both members. Where a member has no
 * effect, the rule acts on each request that its expression matches, and the response to the write has a message about
 * it.
 */
export function conditionsInForce(rule: Pick<Rule, 'action'> & Conditions, phase: PhaseSpec): Conditions {
  const { action, ratelimit, exposed_credential_check } = rule
  return {
    ...(ratelimit && phase.ratelimit && action !== 'execute' && { ratelimit }),
    ...(exposed_credential_check && phase.credentials && { exposed_credential_check }),
  }
}
