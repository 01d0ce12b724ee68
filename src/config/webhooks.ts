import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Duration, Size } from './units.js'

const Count = (byDefault: number, description: string) => Type.Integer({ minimum: 0, default: byDefault, description })

/** The section `webhooks`. */
export const Webhooks = Type.Object(
  {
    retry_schedule: Type.Array(Duration('5s', 'Between a try that failed and the next.'), {
      maxItems: 100,
      default: ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'],
      description: 'Between the tries of a delivery, the first one being made at once; then the delivery has failed.',
    }),
    quotas: Type.Object(
      {
        webhooks: Count(100, 'Webhooks.'),
        policies: Count(500, 'Policies.'),
        findings: Count(20_000, 'Findings.'),
        instances: Count(500_000, 'Finding instances; more are refused.'),
        pending: Count(50_000, 'Deliveries that wait; more are refused, and findings whose policies would make more.'),
        pending_bytes: Size('256MB', 'Payloads of deliveries that wait.'),
      },
      { ...strict, default: {}, description: 'What one account may have.' },
    ),
  },
  { ...strict, default: {}, description: 'Posture findings and the webhooks that they are sent to.' },
)
