import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { QUEUE_CONSUMERS, type StoredConsumer } from '../../src/core/model/queues.js'
import { WORKER_SCRIPTS } from '../../src/core/model/worker.js'
import { orNull, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { QUEUE_LIMITS } from '../../src/workers/storage/queues.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { whole } from '../http/paging.js'
import { audited } from '../resources/audit.js'
import type { ControlDeps } from '../http/context.js'
import { consumerResponse, QUEUE, type QueueRepository } from './queues.js'

const PATH = `${QUEUE}/consumers` as const
const ONE = `${PATH}/:consumer_id` as const
const MAX_VISIBILITY_MS = 43_200_000

const delay = Type.Integer({ minimum: 0, maximum: QUEUE_LIMITS.delay })
const Settings = Type.Object(
  {
    batch_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'Default: 10.' })),
    max_retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 100, description: 'Default: 3.' })),
    max_wait_time_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 60_000,
        description: 'Maximum time in milliseconds that an incomplete batch waits. Default: 5000.',
      }),
    ),
    max_concurrency: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: 250 }))),
    retry_delay: Type.Optional(delay),
    visibility_timeout_ms: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_VISIBILITY_MS, description: 'Of `http_pull`. Default: 30000.' }),
    ),
  },
  strict,
)
const ConsumerInput = Type.Object(
  {
    type: Type.Enum(['worker', 'http_pull']),
    script_name: Type.Optional(Type.String({ description: 'Of `worker`.' })),
    environment_name: Type.Optional(Type.String()),
    dead_letter_queue: Type.Optional(
      Type.String({ description: 'Name of the queue for messages that failed too often.' }),
    ),
    settings: Type.Optional(Settings),
  },
  strict,
)
const Consumer = Type.Object({ consumer_id: Type.String(), type: Type.String(), queue_name: Type.String() })

const rows = area(
  { scopes, access: ACCESS.queues, refusal: 'badQueue' },
  ({ store, clock }: ControlDeps, queues: QueueRepository) => {
    const stored = (scope: Scope, queueId: string, id: string) => {
      const found = store.get(QUEUE_CONSUMERS, scope, queueId)
      if (found?.value.id !== id) throw new ApiError('consumerNotFound')
      return found
    }
    const consumerOf = (scope: Scope, body: Static<typeof ConsumerInput>, old?: StoredConsumer): StoredConsumer => {
      const { type, script_name: script, dead_letter_queue, settings = {} } = body
      if (type === 'worker' && (script === undefined || !store.get(WORKER_SCRIPTS, scope, script)))
        throw new ApiError('badQueue', '/script_name', 'must be the name of a Worker of the account')
      if (dead_letter_queue !== undefined && !queues.named(scope, dead_letter_queue))
        throw new ApiError(
          'badQueue',
          '/dead_letter_queue',
          `the queue ${JSON.stringify(dead_letter_queue)} does not exist`,
        )
      const { max_concurrency: concurrency, ...rest } = settings
      return {
        id: old?.id ?? newId(),
        created_on: old?.created_on ?? new Date(clock.now()).toISOString(),
        type,
        ...(type === 'worker' && script !== undefined && { script }),
        ...(dead_letter_queue !== undefined && dead_letter_queue !== '' && { dead_letter_queue }),
        batch_size: 10,
        max_retries: 3,
        retry_delay: 0,
        max_wait_time_ms: 5000,
        visibility_timeout_ms: 30_000,
        ...rest,
        ...(typeof concurrency === 'number' && { max_concurrency: concurrency }),
      }
    }
    return { store, queues, clock, consumerOf, stored }
  },
)

/** The consumer of a queue: a Worker, or clients that pull. */
export const queueConsumers = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the consumers of a queue: at most one',
    result: Type.Array(Consumer),
    handle({ store, queues }, { scope, params }) {
      const queue = queues.get(scope, params.queue_id)
      const found = store.get(QUEUE_CONSUMERS, scope, queue.id)
      return whole(found ? [consumerResponse(found.value, queue)] : [])
    },
  }),
  rows.post(PATH, {
    summary: 'Create the consumer of a queue',
    body: ConsumerInput,
    jsonAs: ['text/plain'],
    result: Consumer,
    async handle({ store, clock, queues, consumerOf }, call) {
      const { scope, params, body } = call
      const queue = queues.get(scope, params.queue_id)
      if (store.get(QUEUE_CONSUMERS, scope, queue.id)) throw new ApiError('consumerExists')
      const after = consumerOf(scope, body)
      await store.batch(...audited(clock, call, { kind: QUEUE_CONSUMERS, scope, id: queue.id, after }))
      return consumerResponse(after, queue)
    },
  }),
  rows.get(ONE, {
    summary: 'Read the consumer of a queue',
    result: Consumer,
    handle({ queues, stored }, { scope, params }) {
      const queue = queues.get(scope, params.queue_id)
      return consumerResponse(stored(scope, queue.id, params.consumer_id).value, queue)
    },
  }),
  rows.put(ONE, {
    summary: 'Replace the settings of a consumer',
    body: ConsumerInput,
    jsonAs: ['text/plain'],
    result: Consumer,
    async handle({ store, clock, queues, stored, consumerOf }, call) {
      const { scope, params, body } = call
      const queue = queues.get(scope, params.queue_id)
      const { value: before, version: ifVersion } = stored(scope, queue.id, params.consumer_id)
      const after = consumerOf(scope, body, before)
      await store.batch(
        ...audited(clock, call, { kind: QUEUE_CONSUMERS, scope, id: queue.id, before, after, ifVersion }),
      )
      return consumerResponse(after, queue)
    },
  }),
  rows.delete(ONE, {
    summary: 'Delete the consumer of a queue; messages stay',
    bare: true,
    async handle({ store, clock, queues, stored }, call) {
      const { scope, params } = call
      const { id } = queues.get(scope, params.queue_id)
      const { value: before, version: ifVersion } = stored(scope, id, params.consumer_id)
      await store.batch(...audited(clock, call, { kind: QUEUE_CONSUMERS, scope, id, before, ifVersion }))
    },
  }),
])
