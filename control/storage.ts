import type { Blobs } from '../src/core/blobs.js'
import { KeyValues } from '../src/workers/key-values.js'
import type { Endpoint } from './endpoint.js'
import type { ControlDeps } from './state.js'
import { d1 } from './storage/d1.js'
import { kvBulk } from './storage/kv-bulk.js'
import { kvNamespaces, namespaceBook } from './storage/kv-namespaces.js'
import { kvValues } from './storage/kv-values.js'
import { r2 } from './storage/r2.js'

/** Keys of one account, in all of its namespaces. */
const MOST_KEYS = 100_000

/** What bindings of Workers point at: namespaces of keys and values, buckets, databases. */
export function storage(deps: ControlDeps & { readonly blobs: () => Blobs }): Endpoint[] {
  const namespaces = namespaceBook(deps)
  const values = new KeyValues(deps, MOST_KEYS)
  return [
    ...kvNamespaces(namespaces, values),
    ...kvValues(deps, namespaces, values),
    ...kvBulk(deps, namespaces, values),
    ...r2(deps),
    ...d1(deps),
  ]
}
