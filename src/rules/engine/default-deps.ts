import { NO_LISTS } from '../../expr/index.js'
import type { RuleDeps } from '../types.js'

/**
 * Rules without other parts: no lists, no stored pages, and a denial instead of a challenge. A rule with a condition beside its
 * expression is not loaded, because it would act on more requests than it should.
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
  condition({ ratelimit, exposed_credential_check }) {
    if (ratelimit || exposed_credential_check) throw new TypeError('conditions of this kind are not in force')
    return undefined
  },
}
