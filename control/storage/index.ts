import type { Blobs } from '../../src/core/blobs.js'
import { KeyValues, MAX_KEYS } from '../../src/workers/storage/key-values.js'
import type { Vault } from '../../src/core/vault.js'
import type { Databases } from '../../src/workers/runtime/databases.js'
import { Objects } from '../../src/workers/storage/objects.js'
import type { Endpoint } from '../http/endpoint.js'
import type { ControlDeps } from '../http/context.js'
import { d1 } from './d1.js'
import { kvBulk } from './kv-bulk.js'
import { kvNamespaces, namespaceRepository } from './kv-namespaces.js'
import { kvValues } from './kv-values.js'
import { Queues } from '../../src/workers/storage/queues.js'
import { queueConsumers } from './queue-consumers.js'
import { queueMessages } from './queue-messages.js'
import { queueEndpoints, queueRepository } from './queues.js'
import { hyperdrive } from './hyperdrive.js'
import { secretsStores, secretStores } from './secrets-store.js'
import { storeSecrets } from './store-secrets.js'
import { r2 } from './r2.js'
import { r2Domains } from './r2-domains.js'
import { r2Objects } from './r2-objects.js'
import { r2Settings } from './r2-settings.js'

/** What bindings of Workers point at: namespaces of keys and values, buckets, queues, databases. */
export function storage(
  given: ControlDeps & { readonly blobs: () => Blobs; readonly databases?: () => Databases | undefined },
): Endpoint[] {
  const deps = { databases: () => undefined, ...given }
  const namespaces = namespaceRepository(deps)
  const values = new KeyValues(deps, MAX_KEYS)
  const objects = new Objects(deps)
  const queues = new Queues(deps)
  const repository = queueRepository(deps)
  return [
    ...kvNamespaces(namespaces, values),
    ...kvValues(deps, namespaces, values),
    ...kvBulk(deps, namespaces, values),
    ...r2(deps, objects),
    ...r2Settings(deps),
    ...r2Domains(deps),
    ...r2Objects(deps, objects),
    ...queueEndpoints(deps, repository, queues),
    ...queueConsumers(deps, repository),
    ...queueMessages(deps, repository, queues),
    ...d1(deps),
  ]
}

/** Encrypted targets of bindings of Workers: secrets, and connections to databases. */
export function sealedStorage(deps: ControlDeps & { readonly vault: () => Vault }): Endpoint[] {
  const stores = secretStores(deps)
  return [...secretsStores(deps, stores), ...storeSecrets(deps, stores), ...hyperdrive(deps)]
}
