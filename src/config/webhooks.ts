import { Type } from 'typebox'
import { strict } from '../core/schema.js'
import { Duration, Size } from './units.js'
import { Count } from './values.js'

const Limit = (byDefault: number, description: string) => Type.Integer({ minimum: 1, default: byDefault, description })

/** The section `webhooks`. */
export const Webhooks = Type.Object(
  {
    retry_schedule: Type.Array(Duration('5s', 'Time between a failed attempt and the next one.'), {
      maxItems: 100,
      default: ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'],
      description:
        'Times between the attempts of a delivery. The first attempt is immediate. After the last one the delivery has failed.',
    }),
    timeout: Duration('15s', 'Maximum duration of one attempt, including the connection.'),
    attempts: Type.Object(
      {
        in_flight: Limit(256, 'Maximum concurrent delivery attempts to all webhooks together.'),
        in_flight_per_destination: Limit(
          4,
          'Maximum concurrent attempts per webhook. Starts at 1 and grows with each success.',
        ),
      },
      { ...strict, default: {}, description: 'Concurrent delivery attempts.' },
    ),
    circuit_breaker: Type.Object(
      {
        failures: Limit(10, 'Consecutive failures after which deliveries to a webhook pause.'),
        open_for: Duration(
          '30s',
          'Duration of the pause. Doubles after each failed trial attempt, up to `max_open_for`.',
        ),
        max_open_for: Duration('15m', 'Maximum duration of the pause.'),
      },
      {
        ...strict,
        default: {},
        description: 'Circuit breaker: pauses deliveries to a webhook after repeated failures.',
      },
    ),
    disable_after: Duration('5d', 'A webhook is disabled after failing for this long without a success. 0s: never.'),
    drain_timeout: Duration('10s', 'Time that attempts in flight have to finish when the daemon stops.'),
    retention: Type.Object(
      {
        jobs: Limit(10_000, 'Maximum finished deliveries stored per account. The oldest are deleted first.'),
        age: Duration('30d', 'Finished deliveries older than this are deleted.'),
      },
      { ...strict, default: {}, description: 'How long finished deliveries are stored.' },
    ),
    quotas: Type.Object(
      {
        webhooks: Count(100, 'Maximum webhooks.'),
        policies: Count(500, 'Maximum policies.'),
        findings: Count(20_000, 'Maximum findings.'),
        instances: Count(500_000, 'Maximum finding instances. More are rejected.'),
        pending: Count(
          50_000,
          'Maximum pending deliveries. More are rejected, and so are findings whose policies would create more.',
        ),
        pending_bytes: Size('256MB', 'Maximum size of the payloads of pending deliveries.'),
      },
      { ...strict, default: {}, description: 'Limits per account.' },
    ),
  },
  { ...strict, default: {}, description: 'Posture findings and the webhooks that receive them.' },
)
