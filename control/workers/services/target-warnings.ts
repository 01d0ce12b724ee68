import { HYPERDRIVES } from '../../../src/core/model/hyperdrive.js'
import { QUEUE_NAMES } from '../../../src/core/model/queues.js'
import { secretName, STORE_SECRET_NAMES } from '../../../src/core/model/secrets-store.js'
import { D1_DATABASES, KV_NAMESPACES, R2_BUCKETS, bucketId } from '../../../src/core/model/storage.js'
import {
  WORKER_DEPLOYMENTS,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type Binding,
  type NamedExport,
  type StoredVersion,
  type TailConsumer,
} from '../../../src/core/model/worker.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Kind, Store } from '../../../src/core/store.js'
import { hasEntrypoint, namedEntrypoint } from '../../../src/workers/code/entrypoints.js'
import type { UploadIssue } from '../../../src/workers/upload-errors.js'
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
    if (!kind || id === undefined) return []
    if (!store.get(kind, scope, id))
      return [{ code: 10000, message: `the binding ${binding.name} names the ${what}, which does not exist` }]
    const entrypoint = entrypointOf(binding)
    const [primary] = entrypoint === undefined ? [] : versionsOf(store, scope, id).served
    if (entrypoint === undefined || !primary || hasEntrypoint(primary.named, entrypoint)) return []
    return [
      {
        code: 10000,
        message: `the binding ${binding.name} names the entrypoint ${entrypoint}, which the ${what} does not export`,
      },
    ]
  })
}

/** Returns the entrypoint that a service binding names. Undefined for the default export and for other bindings. */
const entrypointOf = (binding: Binding): string | undefined =>
  binding.type === 'service' ? namedEntrypoint(binding['entrypoint']) : undefined

/** Returns the versions of a script that serve requests, the newest first, and the newest version of all. */
function versionsOf(store: Store, scope: Scope, name: string): { served: StoredVersion[]; newest: StoredVersion[] } {
  const script = store.get(WORKER_SCRIPTS, scope, name)?.value
  const deployment = script?.deployments[0]
  const served = deployment === undefined ? undefined : store.get(WORKER_DEPLOYMENTS, scope, deployment)?.value
  const read = (ids: readonly string[]) => ids.flatMap((id) => store.get(WORKER_VERSIONS, scope, id)?.value ?? [])
  return {
    served: read((served?.versions ?? []).map(({ version_id: id }) => id)).toSorted((a, b) => b.number - a.number),
    newest: read((script?.versions ?? []).slice(0, 1)),
  }
}

/**
 * Returns an error for each service binding to an entrypoint that its script does not export. A script that does not
 * exist yet can be uploaded later. The script of the upload itself has the exports in `named`.
 */
export function entrypointIssues(
  store: Store,
  scope: Scope,
  bindings: readonly Binding[],
  upload: { readonly script: string; readonly named: readonly NamedExport[] },
): UploadIssue[] {
  return bindings.flatMap((binding, at): UploadIssue[] => {
    const entrypoint = entrypointOf(binding)
    if (entrypoint === undefined) return []
    const service = String(binding['service'])
    const { served, newest } = versionsOf(store, scope, service)
    const targets = service === upload.script ? [upload] : [...served, ...newest]
    if (targets.length === 0 || targets.some(({ named }) => hasEntrypoint(named, entrypoint))) return []
    return [
      {
        kind: 'serviceBinding',
        pointer: `/bindings/${at}/entrypoint`,
        message: `could not resolve binding "${binding.name}": the script "${service}" does not export the entrypoint "${entrypoint}"`,
      },
    ]
  })
}

/** Returns a warning for each binding of another script to an entrypoint that a deployed version no longer exports. */
export const lostEntrypoints = (store: Store, scope: Scope, { script: name, named }: StoredVersion): Message[] =>
  store
    .list(WORKER_SCRIPTS, scope)
    .filter(({ id }) => id !== name)
    .flatMap(({ id }) => {
      const bindings = versionsOf(store, scope, id).served.flatMap((version) => version.bindings)
      const wanted = bindings.filter(({ service }) => service === name).flatMap((one) => entrypointOf(one) ?? [])
      return [...new Set(wanted)]
        .filter((entrypoint) => !hasEntrypoint(named, entrypoint))
        .map((entrypoint) => ({
          code: 10000,
          message: `the script ${id} has a binding to the entrypoint ${entrypoint}, which this version does not export`,
        }))
    })

/** Returns a warning for each tail consumer that does not exist. The script can be uploaded later. */
export const missingConsumers = (store: Store, scope: Scope, consumers: readonly TailConsumer[]): Message[] =>
  consumers
    .filter(({ service, namespace }) => namespace === undefined && !store.get(WORKER_SCRIPTS, scope, service))
    .map(({ service }) => ({ code: 10000, message: `the tail consumer ${service} does not exist` }))
