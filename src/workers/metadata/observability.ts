import { Type } from 'typebox'
import { orNull } from '../../core/schema.js'

const rate = (what: string) =>
  Type.Optional(orNull(Type.Number({ minimum: 0, maximum: 1, description: `Share of ${what}. Default: 1.` })))

const destinations = Type.Optional(
  Type.Array(Type.String({ minLength: 1 }), { description: 'Additional destinations.' }),
)
const persist = Type.Optional(
  Type.Boolean({ description: 'Whether they are stored: logs in the log of the daemon. Default: true.' }),
)

const Logs = Type.Object({
  enabled: Type.Boolean(),
  invocation_logs: Type.Boolean({ description: 'One log of each call.' }),
  destinations,
  head_sampling_rate: rate('calls whose logs are taken'),
  persist,
})

const Traces = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  destinations,
  head_sampling_rate: rate('calls that are traced'),
  persist,
  propagation_policy: Type.Optional(
    orNull(
      Type.Enum(['authenticated', 'accept'], {
        description: 'Whose trace context is accepted: of clients with a token, or of all.',
      }),
    ),
  ),
})

/** Recording of a script's calls. */
export const Observability = Type.Object({
  enabled: Type.Boolean(),
  head_sampling_rate: rate('calls that are recorded'),
  issues: Type.Optional(orNull(Type.Object({ enabled: Type.Optional(Type.Boolean()) }))),
  logs: Type.Optional(orNull(Logs)),
  redact_query_string: Type.Optional(
    Type.Boolean({ description: 'Removes queries from the URLs of logs and traces.' }),
  ),
  traces: Type.Optional(orNull(Traces)),
})
