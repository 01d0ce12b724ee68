import type { StoredScript } from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import type { Stored } from '../../src/core/store.js'
import { ApiError, type ErrorKind } from '../errors.js'
import type { WorkersDeps } from './engine.js'

/** The script with a name. Throws the row for scripts, or another one, where there is none. */
export function scriptOf(
  { workers }: Pick<WorkersDeps, 'workers'>,
  scope: Scope,
  name: string,
  missing: ErrorKind = 'scriptNotFound',
): Stored<StoredScript> {
  const found = workers().shelf.script(scope, name)
  if (!found) throw new ApiError(missing)
  return found
}
