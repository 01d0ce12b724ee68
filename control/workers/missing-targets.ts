import { D1_DATABASES, KV_NAMESPACES, R2_BUCKETS, bucketId } from '../../src/core/model/storage.js'
import { WORKER_SCRIPTS, type Binding } from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import type { Kind, Store } from '../../src/core/store.js'
import type { Message } from '../endpoint.js'

/** What a binding points at, by its type: the kind, the id, and what to call it. */
const TARGETS: Readonly<Record<string, (binding: Binding) => [kind: Kind<unknown>, id: string, what: string]>> = {
  kv_namespace: ({ namespace_id: id }) => [KV_NAMESPACES, String(id), `KV namespace ${String(id)}`],
  r2_bucket: ({ bucket_name: name, jurisdiction = 'default' }) => [
    R2_BUCKETS,
    bucketId(String(jurisdiction), String(name)),
    `R2 bucket ${String(name)}`,
  ],
  d1: ({ database_id: id }) => [D1_DATABASES, String(id), `D1 database ${String(id)}`],
  service: ({ service }) => [WORKER_SCRIPTS, String(service), `script ${String(service)}`],
}

/** A message for each binding to something that does not exist: it may be made later. */
export function missingTargets(store: Store, scope: Scope, bindings: readonly Binding[]): Message[] {
  return bindings.flatMap((binding) => {
    const [kind, id, what] = TARGETS[binding.type]?.(binding) ?? []
    if (!kind || id === undefined || store.get(kind, scope, id)) return []
    return [{ code: 10000, message: `the binding ${binding.name} names the ${what}, which does not exist` }]
  })
}
