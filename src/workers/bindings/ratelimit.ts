import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A rate limit for the script. */
export const ratelimit = bindingKind({
  type: 'ratelimit',
  description: 'A rate limit that the script asks.',
  fields: {
    namespace_id: Ref('Namespace of the counts.'),
    simple: Type.Object({
      limit: Type.Integer({ minimum: 1, description: 'Requests in one period.' }),
      period: Type.Integer({ minimum: 1, maximum: 86_400, description: 'Seconds.' }),
      mitigation_timeout: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 86_400,
          description: '0, 10, or a multiple of 60 seconds; not less than the period.',
        }),
      ),
    }),
  },
  example: { namespace_id: '1001', simple: { limit: 100, period: 60, mitigation_timeout: 120 } },

  check({ simple }) {
    const { period, mitigation_timeout: seconds = 0 } = simple as { period: number; mitigation_timeout?: number }
    const pointer = '/simple/mitigation_timeout'
    if (seconds !== 0 && seconds !== 10 && seconds % 60 !== 0)
      return [{ pointer, message: 'must be 0, 10 or a multiple of 60' }]
    if (seconds !== 0 && seconds < period) return [{ pointer, message: 'must not be less than the period' }]
    return []
  },
})
