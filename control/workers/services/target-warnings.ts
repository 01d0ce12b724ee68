import { HYPERDRIVES } from '../../../src/core/model/hyperdrive.js'
import { QUEUE_NAMES } from '../../../src/core/model/queues.js'
import { secretName, STORE_SECRET_NAMES } from '../../../src/core/model/secrets-store.js'
import { D1_DATABASES, KV_NAMESPACES, R2_BUCKETS, bucketId } from '../../../src/core/model/storage.js'
import { WORKER_SCRIPTS, type Binding, type TailConsumer } from '../../../src/core/model/worker.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Kind, Store } from '../../../src/core/store.js'
import type { Message } from '../../http/endpoint.js'

/** Target of a binding, by its type: kind, id and name in messages. */
const TARGETS: Readonly<Record<string, (binding: Binding) => [kind: Kind<unknown>, id: string, what: string]>> = {
  kv_namespace: ({ namespace_id: id }) => [KV_NAMESPACES, String(id), `KV namespace ${String(id)}`],
  r2_bucket: ({ bucket_name: name, jurisdiction = 'default' }) => [
    R2_BUCKETS,
    bucketId(String(jurisdiction), String(name)),
    `R2 bucket ${String(name)}`,
  ],
  d1: ({ database_id: id }) => [D1_DATABASES, String(id), `D1 database ${String(id)}`],
  queue: ({ queue_name: name }) => [QUEUE_NAMES, String(name), `queue ${String(name)}`],
  hyperdrive: ({ id }) => [HYPERDRIVES, String(id), `Hyperdrive configuration ${String(id)}`],
  secrets_store_secret: ({ store_id: id, secret_name: name }) => [
    STORE_SECRET_NAMES,
    secretName(String(id), String(name)),
    `secret ${String(name)} of the store ${String(id)}`,
  ],
  service: ({ service }) => [WORKER_SCRIPTS, String(service), `script ${String(service)}`],
}

/** Returns a warning for each binding whose target does not exist. The target can be created later. */
export function missingTargets(store: Store, scope: Scope, bindings: readonly Binding[]): Message[] {
  return bindings.flatMap((binding) => {
    const [kind, id, what] = TARGETS[binding.type]?.(binding) ?? []
    if (!kind || id === undefined || store.get(kind, scope, id)) return []
    return [{ code: 10000, message: `the binding ${binding.name} names the ${what}, which does not exist` }]
  })
}

/** Returns a warning for each tail consumer that does not exist. The script can be uploaded later. */
export const missingConsumers = (store: Store, scope: Scope, consumers: readonly TailConsumer[]): Message[] =>
  consumers
    .filter(({ service, namespace }) => namespace === undefined && !store.get(WORKER_SCRIPTS, scope, service))
    .map(({ service }) => ({ code: 10000, message: `the tail consumer ${service} does not exist` }))
