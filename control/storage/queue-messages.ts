import { Type, type Static } from 'typebox'
import { QUEUE_CONSUMERS, type StoredQueue } from '../../src/core/model/queues.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import {
  QUEUE_LIMITS,
  TooManyMessages,
  type LeasedMessage,
  type NewMessage,
  type Queues,
} from '../../src/workers/storage/queues.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { QUEUE, type QueueRepository } from './queues.js'

const MESSAGES = `${QUEUE}/messages` as const
/** JSON in JSON can take twice its size. */
const MAX_BODY_BYTES = 1024 * 1024
const MAX_VISIBILITY_MS = 43_200_000

const delay_seconds = Type.Optional(Type.Integer({ minimum: 0, maximum: QUEUE_LIMITS.delay }))
const members = {
  body: Type.Unknown({ description: 'Text, or any JSON with the content type `json`.' }),
  content_type: Type.Optional(
    Type.Enum(['text', 'json', 'bytes'], { description: 'Default: json. `bytes` is base64.' }),
  ),
  delay_seconds,
}
const Message = Type.Object(members, strict)
const Leases = Type.Object({ lease_id: Type.String() }, strict)

const Metrics = Type.Object({
  backlog_count: Type.Integer(),
  backlog_bytes: Type.Integer(),
  oldest_message_timestamp_ms: Type.Integer(),
})
const Pulled = Type.Object({
  id: Type.String(),
  body: Type.String({ description: 'Base64, except for text.' }),
  attempts: Type.Integer(),
  timestamp_ms: Type.Integer(),
  lease_id: Type.Optional(Type.String()),
  ref: Type.Optional(Type.String()),
  metadata: Type.Object({}),
})

const Sent = Type.Object({ metadata: Type.Object({ metrics: Metrics }) })

const rows = area(
  { scopes, access: ACCESS.queues, refusal: 'badQueue' },
  ({ store }: ControlDeps, repository: QueueRepository, queues: Queues) => {
    const metrics = (scope: Scope, { id }: StoredQueue): Static<typeof Metrics> => {
      const { count, bytes, oldest } = queues.metrics(scope, id)
      return { backlog_count: count, backlog_bytes: bytes, oldest_message_timestamp_ms: oldest }
    }
    const send = async (scope: Scope, queue: StoredQueue, messages: readonly NewMessage[]) => {
      await queues.send(scope, queue, messages).catch((error: unknown) => {
        throw error instanceof TooManyMessages ? new ApiError('tooManyMessages') : error
      })
      return { metadata: { metrics: metrics(scope, queue) } }
    }
    return { repository, send, store, queues, metrics }
  },
)

/** Messages of a queue for clients without a Worker. */
export const queueMessages = rows.endpoints([
  rows.post(MESSAGES, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    summary: 'Send a message',
    body: Message,
    result: Sent,
    handle: async ({ repository, send }, { scope, params, body }) =>
      await send(scope, repository.get(scope, params.queue_id), [newMessage(body, '')]),
  }),
  rows.post(`${MESSAGES}/batch`, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    summary: 'Send messages, all or none',
    body: Type.Object(
      { messages: Type.Array(Message, { minItems: 1, maxItems: QUEUE_LIMITS.batch }), delay_seconds },
      strict,
    ),
    result: Sent,
    async handle({ repository, send }, { scope, params, body }) {
      const queue = repository.get(scope, params.queue_id)
      const messages = body.messages.map((one, at) =>
        newMessage(
          { ...(body.delay_seconds !== undefined && { delay_seconds: body.delay_seconds }), ...one },
          `/messages/${at}`,
        ),
      )
      if (messages.reduce((sum, one) => sum + one.body.length, 0) > QUEUE_LIMITS.batchBytes)
        throw new ApiError('badQueue', '/messages', `has more than ${QUEUE_LIMITS.batchBytes} bytes`)
      return await send(scope, queue, messages)
    },
  }),
  rows.post(`${MESSAGES}/pull`, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    summary: 'Lease messages; what is not acknowledged in time is delivered again',
    body: Type.Object(
      {
        batch_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
        visibility_timeout_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_VISIBILITY_MS })),
        visibility_timeout: Type.Optional(Type.Integer({ minimum: 0, maximum: MAX_VISIBILITY_MS })),
      },
      strict,
    ),
    bodyOptional: true,
    result: Type.Object({
      message_backlog_count: Type.Integer(),
      metadata: Type.Object({ metrics: Metrics }),
      messages: Type.Array(Pulled),
    }),
    async handle({ store, repository, queues, metrics }, { scope, params, body }) {
      const queue = repository.get(scope, params.queue_id)
      const consumer = store.get(QUEUE_CONSUMERS, scope, queue.id)?.value
      if (consumer?.type !== 'http_pull')
        throw new ApiError('badQueue', undefined, 'the queue has no consumer of the type http_pull; create one first')
      const { batch_size: size = consumer.batch_size, visibility_timeout: short } = body
      const visibility = body.visibility_timeout_ms ?? short ?? consumer.visibility_timeout_ms
      const messages = await queues.lease(scope, queue.id, size, visibility)
      const current = metrics(scope, queue)
      return {
        message_backlog_count: current.backlog_count,
        metadata: { metrics: current },
        messages: messages.map((message) => ({ ...pulled(message), lease_id: message.lease })),
      }
    },
  }),
  rows.post(`${MESSAGES}/ack`, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    summary: 'Acknowledge leased messages, or have them delivered again',
    body: Type.Object(
      {
        acks: Type.Optional(Type.Array(Leases, { maxItems: 1000 })),
        retries: Type.Optional(
          Type.Array(Type.Object({ lease_id: Type.String(), delay_seconds }, strict), { maxItems: 1000 }),
        ),
      },
      strict,
    ),
    result: Type.Object({ ackCount: Type.Integer(), retryCount: Type.Integer(), warnings: Type.Object({}) }),
    async handle({ repository, queues }, { scope, params, body: { acks = [], retries = [] } }) {
      const { id } = repository.get(scope, params.queue_id)
      const { acked, retried } = await queues.settle(scope, id, {
        acks: acks.map(({ lease_id: lease }) => lease),
        retries: retries.map(({ lease_id: lease, delay_seconds: delaySeconds }) => ({ lease, delaySeconds })),
      })
      return { ackCount: acked, retryCount: retried, warnings: {} }
    },
  }),
  rows.post(`${MESSAGES}/peek`, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    permissions: ACCESS.queues.read,
    summary: 'Read the oldest messages without leasing them',
    body: Type.Object({ batch_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })) }, strict),
    bodyOptional: true,
    result: Type.Object({ messages: Type.Array(Pulled) }),
    async handle({ repository, queues }, { scope, params, body }) {
      const { id } = repository.get(scope, params.queue_id)
      const found = await queues.peek(scope, id, body.batch_size ?? 10)
      return { messages: found.map((message) => ({ ...pulled(message), ref: message.id })) }
    },
  }),
  rows.post(`${MESSAGES}/purge`, {
    jsonAs: ['text/plain'],
    maxBytes: MAX_BODY_BYTES,
    summary: 'Delete messages by the refs of `peek`',
    body: Type.Object({ refs: Type.Array(Type.Object({ ref: Type.String() }, strict), { maxItems: 100 }) }, strict),
    result: Type.Object({ errors: Type.Array(Type.Object({})), warnings: Type.Object({}) }),
    async handle({ repository, queues }, { scope, params, body }) {
      const { id } = repository.get(scope, params.queue_id)
      await queues.purge(
        scope,
        id,
        body.refs.map(({ ref }) => ref),
      )
      return { errors: [], warnings: {} }
    },
  }),
  rows.get(`${QUEUE}/metrics`, {
    summary: 'Read how many messages wait in a queue',
    result: Metrics,
    handle: ({ repository, metrics }, { scope, params }) => metrics(scope, repository.get(scope, params.queue_id)),
  }),
])

function newMessage(
  { body, content_type: format = 'json', delay_seconds: delaySeconds }: Static<typeof Message>,
  at: string,
): NewMessage {
  if (format !== 'json' && typeof body !== 'string') throw new ApiError('badQueue', `${at}/body`, 'must be a string')
  const bytes =
    format === 'json'
      ? Buffer.from(JSON.stringify(body))
      : Buffer.from(String(body), format === 'bytes' ? 'base64' : 'utf8')
  if (bytes.length > QUEUE_LIMITS.messageBytes)
    throw new ApiError('badQueue', `${at}/body`, `has more than ${QUEUE_LIMITS.messageBytes} bytes`)
  return { body: bytes, format, delaySeconds }
}

const pulled = ({ id, attempts, sent, format, body }: LeasedMessage): Static<typeof Pulled> => ({
  id,
  attempts,
  timestamp_ms: sent,
  body: body.toString(format === 'text' ? 'utf8' : 'base64'),
  metadata: { 'CF-Content-Type': format, 'CF-sourceMessageSource': 'edged' },
})
