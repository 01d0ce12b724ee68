import { WORKER_ROUTES, type StoredRoute } from '../../../src/core/model/worker-routing.js'
import { zone as zoneScope, type Scope } from '../../../src/core/scope.js'
import { configIndex } from '../../http/auth/config-index.js'
import type { WorkersDeps } from './index.js'

/** All routes of a Worker, in the zones of its account. */
export function routesOf(
  { config, store }: Pick<WorkersDeps, 'config' | 'store'>,
  { id }: Scope,
  script: string,
): { zone: Scope; route: StoredRoute }[] {
  return [...configIndex(config()).zones.values()]
    .filter((zone) => zone.account === id)
    .flatMap((zone) => store.list(WORKER_ROUTES, zoneScope(zone.id)))
    .filter(({ value }) => value.script === script)
    .map(({ scope, value }) => ({ zone: scope, route: value }))
}
