import { NO_LISTS } from '../../expr/index.js'
import { conditionsInForce } from '../limits/in-force.js'
import type { RuleDeps } from '../types.js'

/**
 * Rules without other parts. There are no lists and no stored pages, and a denial replaces a challenge. A rule with a
 * condition in addition to its expression is not loaded, because it would act on more requests than it should.
 */
export const defaultRuleDeps: RuleDeps = {
  lists: () => NO_LISTS,
  redirect: () => undefined,
  errorAsset: () => undefined,
  challenge: () => ({
    kind: 'page',
    status: 403,
    reason: 'challenge_required',
    headers: { 'cf-mitigated': 'challenge' },
  }),
  condition(rule, { place }) {
    if (Object.keys(conditionsInForce(rule, place.phase)).length > 0)
      throw new TypeError('conditions of this kind are not in force')
    return undefined
  },
}
