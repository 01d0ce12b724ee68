import { WORKER_SCRIPTS, type StoredScript } from '../../../src/core/model/worker.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Stored } from '../../../src/core/store.js'
import { ApiError, type ErrorKind } from '../../http/errors.js'
import type { WorkersDeps } from './index.js'

/** Returns the script with a name. Throws the row for scripts, or another one, if it does not exist. */
export function scriptOf(
  { workers }: Pick<WorkersDeps, 'workers'>,
  scope: Scope,
  name: string,
  missing: ErrorKind = 'scriptNotFound',
): Stored<StoredScript> {
  const found = workers().repository.script(scope, name)
  if (!found) throw new ApiError(missing)
  return found
}

/** The script with a name or an id. */
export function workerOf(deps: WorkersDeps, scope: Scope, which: string): Stored<StoredScript> {
  const found =
    deps.workers().repository.script(scope, which) ??
    deps.store.list(WORKER_SCRIPTS, scope).find(({ value }) => value.tag === which)
  if (!found) throw new ApiError('scriptNotFound')
  return found
}

/** Throws `tooManyScripts` at the maximum number of scripts of the account. */
export function assertScriptQuota({ store, workers }: WorkersDeps, scope: Scope): void {
  if (store.count(WORKER_SCRIPTS, scope) >= workers().limits().quotas.scripts) throw new ApiError('tooManyScripts')
}
