import { Type, type Static } from 'typebox'
import { DELIVERY_KINDS, DELIVERY_STATUSES, FAILURE_REASONS, ACTORS } from '../../src/core/model/delivery.js'
import { AUTHENTICATION_TYPES, WEBHOOK_STATUSES } from '../../src/core/model/webhook.js'
import { orNull, strict } from '../../src/core/schema.js'
import { MAX_KEY_LENGTH, MAX_SECRET_LENGTH, MAX_VALUE_LENGTH, MAX_HEADERS } from '../../src/webhooks/header-rules.js'
import { paging } from '../http/paging.js'

const Header = Type.Object(
  {
    key: Type.String({ minLength: 1, maxLength: MAX_KEY_LENGTH, description: 'Name of a header field, in any case.' }),
    value: Type.Optional(
      orNull(
        Type.String({
          minLength: 1,
          maxLength: MAX_VALUE_LENGTH,
          description: 'Never returned. In an update, absent or null retains the stored one.',
        }),
      ),
    ),
  },
  strict,
)

const Credentials = {
  destination_url: Type.String({ minLength: 1, maxLength: 2048, description: 'https, with a public address.' }),
  authentication_type: Type.Enum([...AUTHENTICATION_TYPES]),
  headers: Type.Optional(
    Type.Array(Header, {
      maxItems: MAX_HEADERS,
      description: 'Basic Auth and Bearer Auth need an Authorization header, Static Headers any; names are unique.',
    }),
  ),
  signing_secret: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_SECRET_LENGTH,
      description:
        'Of HMAC-Signing, instead of headers: base64 after whsec_, or printable ASCII, of at least 16 random bytes (a ' +
        'shorter one gets message 10910). Never returned. In an update, ' +
        'absent retains the stored one; a replaced secret signs beside the new one for 24 hours.',
    }),
  ),
}

const Label = Type.String({ minLength: 1, maxLength: 255, description: 'Display name.' })
const Status = Type.Enum([...WEBHOOK_STATUSES])

export const NewWebhook = Type.Object(
  { label: Label, ...Credentials, status: Type.Optional(Type.Enum([...WEBHOOK_STATUSES], { default: 'enabled' })) },
  strict,
)
export type NewWebhook = Static<typeof NewWebhook>

/** Replaces the whole configuration; headers that are not listed are deleted. */
export const WebhookChange = Type.Object({ label: Label, ...Credentials, status: Status }, strict)
export type WebhookChange = Static<typeof WebhookChange>

export const Candidate = Type.Object(Credentials, strict)
export type Candidate = Static<typeof Candidate>

const webhook = {
  id: Type.String(),
  label: Type.String(),
  destination_url: Type.String(),
  authentication_type: Type.Enum([...AUTHENTICATION_TYPES]),
  status: Status,
  version: Type.Integer({ description: 'Starts at 1 and grows with each update.' }),
  created_at: Type.String(),
  updated_at: Type.String(),
  headers: Type.Optional(
    Type.Array(Type.Object({ key: Type.String({ description: 'In lower case.' }) }, strict), {
      description: 'Names only.',
    }),
  ),
  disabled_at: Type.Optional(Type.String({ description: 'When the daemon disabled it.' })),
  disabled_reason: Type.Optional(Type.String({ description: 'Why the daemon disabled it.' })),
}

/** How a webhook fares, and what waits for it. */
const WebhookHealth = Type.Object({
  state: Type.Enum(['healthy', 'failing', 'paused'], {
    description: 'paused: after several failures nothing is sent until next_try_at.',
  }),
  failing_since: orNull(Type.String({ description: 'First failure since the last success.' })),
  failures: Type.Integer({ minimum: 0, description: 'Consecutive failures since the start of the daemon.' }),
  next_try_at: orNull(Type.String({ description: 'Earliest time of the next attempt while it is paused.' })),
  waiting: Type.Integer({ minimum: 0, description: 'Deliveries that are not over.' }),
  success: Type.Array(Type.Array(Type.Integer(), { minItems: 2, maxItems: 2 }), {
    description: 'Attempts that succeeded and failed in each of the last 24 hours, the current one at the end.',
  }),
})

export const WebhookResult = Type.Object({ ...webhook, edged: WebhookHealth })

export const TriedWebhook = Type.Object({
  attempted: Type.Boolean({ description: 'False if no delivery waits for it on this machine.' }),
  edged: WebhookHealth,
})

export const EvaluationResult = Type.Object({
  success: Type.Boolean({ description: 'Whether the destination responded with a 2xx status.' }),
  status_code: Type.Integer({ description: '0: no response.' }),
  message: Type.String(),
  edged_response: orNull(
    Type.String({
      description:
        'Beginning of the body of the response, at most 1 KiB, with *** in place of secrets. Null without one.',
    }),
  ),
})

const Ids = (maxItems: number, description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems, description })

/** Maximum pairs of one request. */
export const MAX_PAIRS = 10_000

export const NewJobs = Type.Object(
  {
    finding_instance_ids: Ids(MAX_PAIRS, 'Instances; each goes to each webhook, 10,000 pairs at most.'),
    webhook_ids: Ids(100, 'Webhooks.'),
  },
  strict,
)

const job = {
  id: Type.String(),
  webhook_id: Type.String(),
  integration_id: Type.String(),
  asset_data: Type.Object({}),
  parameters: Type.Object({ finding_instance_id: Type.String() }, strict),
  status: Type.Enum([...DELIVERY_STATUSES]),
  triggered_by_actor: Type.Enum([...ACTORS]),
  triggered_by_id: Type.String(),
  created_at: Type.String(),
  last_updated_at: Type.String(),
  failure_reason: Type.Optional(Type.Enum([...FAILURE_REASONS])),
  failure_details: Type.Optional(Type.Object({})),
  policy_id: Type.Optional(Type.String({ description: 'The policy that sent it.' })),
  kind: Type.Enum([...DELIVERY_KINDS], {
    description: 'finding: a policy sent it; manual: an API call sent it; test: a test delivery.',
  }),
  attempts: Type.Integer({ description: 'Attempts so far, those before a retry by hand included.' }),
  last_status_code: orNull(
    Type.Integer({ description: 'Status of the last attempt; 0: no response. Null before the first attempt.' }),
  ),
  next_try_at: orNull(Type.String({ description: 'Earliest time of the next attempt; null once the job is over.' })),
}
export const JobResult = Type.Object(job)

export const JobWithTries = Type.Object({
  ...job,
  tries: Type.Array(
    Type.Object(
      {
        at: Type.String({ description: 'Start of the attempt.' }),
        status_code: Type.Integer({ description: '0: no response.' }),
        duration_ms: Type.Number(),
        error: orNull(Type.String()),
        response: Type.String({ description: 'The first KiB of the response body, decompressed.' }),
      },
      strict,
    ),
    { description: 'Oldest first, the newest 20.' },
  ),
  payload: Type.Optional(Type.Object({}, { description: 'Body of every attempt; with include=payload.' })),
})

export const JobsResult = Type.Object({
  created: Type.Array(JobResult),
  failed: Type.Array(
    Type.Object({ error: Type.String(), finding_instance_id: Type.String(), webhook_id: Type.String() }, strict),
  ),
})

const filter = {
  status: Type.Optional(Type.Enum([...DELIVERY_STATUSES])),
  webhook_id: Type.Optional(Type.String({ maxLength: 64 })),
  finding_instance_id: Type.Optional(Type.String({ maxLength: 256 })),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Created at this time or later.' })),
  until: Type.Optional(Type.String({ format: 'date-time', description: 'Created before this time.' })),
}

export const JobQuery = Type.Object({
  ...paging({ max: 100 }),
  ...filter,
  kind: Type.Optional(Type.Enum([...DELIVERY_KINDS], { description: 'Default: all but tests.' })),
})

export const JobInclude = Type.Object({ include: Type.Optional(Type.Enum(['payload'])) })

export const JobFilterBody = Type.Object(
  {
    ...filter,
    count_only: Type.Optional(Type.Boolean({ description: 'True: nothing is sent, the counts say what would be.' })),
  },
  strict,
)

export const RetriedJobs = Type.Object({
  retried: Type.Integer({ description: 'Jobs that are sent again.' }),
  pending: Type.Integer({ description: 'Jobs that are not over yet.' }),
  disabled: Type.Integer({ description: 'Jobs whose webhook is disabled or deleted.' }),
  over_limit: Type.Integer({ description: 'Jobs beyond the limit of waiting deliveries; retry them later.' }),
})
