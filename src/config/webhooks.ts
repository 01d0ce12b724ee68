import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Duration, Size } from './units.js'

const Count = (byDefault: number, description: string) => Type.Integer({ minimum: 0, default: byDefault, description })

const Places = (byDefault: number, description: string) => Type.Integer({ minimum: 1, default: byDefault, description })

/** The section `webhooks`. */
export const Webhooks = Type.Object(
  {
    retry_schedule: Type.Array(Duration('5s', 'Between a try that failed and the next.'), {
      maxItems: 100,
      default: ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'],
      description: 'Between the tries of a delivery, the first one being made at once; then the delivery has failed.',
    }),
    timeout: Duration('15s', 'For one try, the connection included.'),
    tries: Type.Object(
      {
        at_once: Places(256, 'Tries under way, all destinations together.'),
        per_destination: Places(
          4,
          'Tries under way to one webhook. It begins with one, and gets more as they succeed.',
        ),
      },
      { ...strict, default: {}, description: 'How many deliveries are made side by side.' },
    ),
    breaker: Type.Object(
      {
        failures: Places(10, 'Failures in a row after which a destination is left alone for a while.'),
        open: Duration('30s', 'For so long, twice as long each time that the try after it fails.'),
        most: Duration('15m', 'But never longer than this.'),
      },
      {
        ...strict,
        default: {},
        description: 'Spares a destination that fails, and the tries that would be wasted on it.',
      },
    ),
    disable_after: Duration('5d', 'A webhook that has only failed for this long is disabled. 0s: never.'),
    drain_timeout: Duration('10s', 'Tries under way have this long to end when the daemon stops.'),
    keep: Type.Object(
      {
        jobs: Places(10_000, 'Deliveries of one account that are over; the newest stay.'),
        age: Duration('30d', 'Those whose last try is longer ago go in any case.'),
      },
      { ...strict, default: {}, description: 'How long deliveries that are over can be seen.' },
    ),
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
