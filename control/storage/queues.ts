import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import {
  QUEUE_CONSUMERS,
  QUEUE_NAMES,
  QUEUES,
  type StoredConsumer,
  type StoredQueue,
} from '../../src/core/model/queues.js'
import { WORKER_DEPLOYMENTS, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../src/core/model/worker.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { QUEUE_LIMITS, type Queues } from '../../src/workers/storage/queues.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { page, paging } from '../http/paging.js'
import { NamedRepository } from '../resources/named-repository.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/queues'
export const QUEUE = `${PATH}/:queue_id` as const
const DAY_SECONDS = 86_400

const queue_name = Type.String({
  pattern: '^[a-zA-Z0-9]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?$',
  'x-message': 'must be 1 to 63 letters, digits, hyphens and underscores, with a letter or digit at both ends',
})
const Settings = Type.Object(
  {
    delivery_delay: Type.Optional(
      Type.Integer({ minimum: 0, maximum: QUEUE_LIMITS.delay, description: 'Seconds before the first delivery.' }),
    ),
    delivery_paused: Type.Optional(Type.Boolean()),
    message_retention_period: Type.Optional(
      Type.Integer({ minimum: 60, maximum: 14 * DAY_SECONDS, description: 'Seconds. Default: 4 days.' }),
    ),
  },
  strict,
)
const jurisdiction = Type.Optional(Type.Enum(['eu', 'us', 'fedramp']))
const NewQueue = Type.Object({ queue_name, jurisdiction, settings: Type.Optional(Settings) }, strict)
const QueueChange = Type.Object(
  { queue_name: Type.Optional(queue_name), jurisdiction, settings: Type.Optional(Settings) },
  strict,
)

const Queue = Type.Object({
  queue_id: Type.String(),
  queue_name: Type.String(),
  created_on: Type.String(),
  modified_on: Type.String(),
  jurisdiction,
  settings: Settings,
  producers: Type.Array(Type.Object({ type: Type.String(), script: Type.String() })),
  producers_total_count: Type.Integer(),
  consumers: Type.Array(Type.Object({})),
  consumers_total_count: Type.Integer(),
})

export type QueueRepository = NamedRepository<StoredQueue>

export const queueRepository = (deps: ControlDeps): QueueRepository =>
  new NamedRepository<StoredQueue>(deps, {
    kind: QUEUES,
    names: QUEUE_NAMES,
    idOf: ({ id }) => id,
    nameOf: ({ name }) => name,
    max: 10_000,
    notFound: 'queueNotFound',
    taken: 'queueExists',
    tooMany: 'tooManyQueues',
  })

const rows = area(
  { scopes: ACCOUNT_ONLY, access: ACCESS.queues, refusal: 'badQueue' },
  ({ store, clock }: ControlDeps, repository: QueueRepository, queues: Queues) => {
    const shown = (scope: Scope, queue: StoredQueue): Static<typeof Queue> => {
      const producers = producersOf(store, scope, queue.name)
      const consumer = store.get(QUEUE_CONSUMERS, scope, queue.id)?.value
      const { delivery_delay, delivery_paused, message_retention_period } = queue
      return {
        queue_id: queue.id,
        queue_name: queue.name,
        created_on: queue.created_on,
        modified_on: queue.modified_on,
        settings: { delivery_delay, delivery_paused, message_retention_period },
        producers: producers.map((script) => ({ type: 'worker', script })),
        producers_total_count: producers.length,
        consumers: consumer ? [consumerResponse(consumer, queue)] : [],
        consumers_total_count: consumer ? 1 : 0,
      }
    }
    const now = () => new Date(clock.now()).toISOString()
    return { repository, shown, now, queues }
  },
)

/** Queues. Messages and consumers have endpoints of their own. */
export const queueEndpoints = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the queues of an account',
    query: Type.Object({
      ...paging({ max: 1000, usual: 100 }),
      name: Type.Optional(Type.Array(Type.String(), { description: 'Only queues with these names.' })),
    }),
    result: Type.Array(Queue),
    handle({ repository, shown }, { scope, query }) {
      const found = repository.all(scope).filter(({ name }) => query.name?.includes(name) ?? true)
      return page(
        found.sort((a, b) => (a.name < b.name ? -1 : 1)),
        query,
        (queue) => shown(scope, queue),
      )
    },
  }),
  rows.post(PATH, {
    summary: 'Create a queue',
    body: NewQueue,
    jsonAs: ['text/plain'],
    result: Queue,
    async handle({ repository, shown, now }, call) {
      const { queue_name: name, settings, ...more } = call.body
      const queue = await repository.create(call, {
        id: newId(),
        name,
        created_on: now(),
        modified_on: now(),
        delivery_delay: 0,
        delivery_paused: false,
        message_retention_period: 4 * DAY_SECONDS,
        ...settings,
        ...more,
      })
      return shown(call.scope, queue)
    },
  }),
  rows.get(QUEUE, {
    summary: 'Read a queue',
    result: Queue,
    handle: ({ repository, shown }, { scope, params }) => shown(scope, repository.get(scope, params.queue_id)),
  }),
  ...(['put', 'patch'] as const).map((method) =>
    rows[method](QUEUE, {
      summary: 'Change the name or the settings of a queue; what is left out stays',
      body: QueueChange,
      jsonAs: ['text/plain'],
      result: Queue,
      async handle({ repository, shown, now }, call) {
        const { queue_name: name, settings } = call.body
        const queue = await repository.change(call, call.params.queue_id, (old) => ({
          ...old,
          ...settings,
          ...(name !== undefined && { name }),
          modified_on: now(),
        }))
        return shown(call.scope, queue)
      },
    }),
  ),
  rows.delete(QUEUE, {
    summary: 'Delete a queue with its messages and its consumer',
    bare: true,
    async handle({ repository, queues }, call) {
      const { scope, params } = call
      const id = params.queue_id
      await repository.remove(call, id, () => [
        ...queues.removal(scope, id),
        { kind: QUEUE_CONSUMERS, scope, id, value: undefined },
      ])
    },
  }),
  rows.post(`${QUEUE}/purge`, {
    summary: 'Delete all messages of a queue',
    body: Type.Object({ delete_messages_permanently: Type.Optional(Type.Boolean()) }, strict),
    jsonAs: ['text/plain'],
    result: Queue,
    async handle({ repository, queues, shown, now }, call) {
      const id = call.params.queue_id
      if (call.body.delete_messages_permanently !== true) return shown(call.scope, repository.get(call.scope, id))
      const queue = await repository.change(call, id, (old) => ({ ...old, purged_at: now() }))
      await queues.purge(call.scope, id)
      return shown(call.scope, queue)
    },
  }),
  rows.get(`${QUEUE}/purge`, {
    summary: 'Read when a queue was purged last',
    result: Type.Object({ completed: Type.String(), started_at: Type.String() }),
    handle({ repository }, { scope, params }) {
      const { purged_at: at = '' } = repository.get(scope, params.queue_id)
      return { completed: at === '' ? 'false' : 'true', started_at: at }
    },
  }),
])

/** A consumer as the API shows it. */
export function consumerResponse(consumer: StoredConsumer, queue: StoredQueue) {
  const { id, type, created_on, script, dead_letter_queue, batch_size, max_retries, retry_delay } = consumer
  const settings = { batch_size, max_retries, retry_delay }
  const { max_wait_time_ms, max_concurrency, visibility_timeout_ms } = consumer
  return {
    consumer_id: id,
    queue_id: queue.id,
    queue_name: queue.name,
    type,
    created_on,
    ...(script !== undefined && { script, script_name: script }),
    ...(dead_letter_queue !== undefined && { dead_letter_queue }),
    settings:
      type === 'worker'
        ? { ...settings, max_wait_time_ms, max_concurrency: max_concurrency ?? null }
        : { ...settings, visibility_timeout_ms },
  }
}

/** Names of the scripts whose deployed versions send to a queue. */
function producersOf(store: Store, scope: Scope, queue: string): string[] {
  return store.list(WORKER_SCRIPTS, scope).flatMap(({ value: { name, deployments } }) => {
    const [current] = deployments
    const shares = current === undefined ? [] : (store.get(WORKER_DEPLOYMENTS, scope, current)?.value.versions ?? [])
    const sends = shares.some(({ version_id: id }) =>
      store
        .get(WORKER_VERSIONS, scope, id)
        ?.value.bindings.some(({ type, queue_name: target }) => type === 'queue' && target === queue),
    )
    return sends ? [name] : []
  })
}
