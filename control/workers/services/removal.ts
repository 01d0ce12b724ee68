import { Type } from 'typebox'
import { WORKER_SCRIPTS } from '../../../src/core/model/worker.js'
import { audit } from '../../resources/audit.js'
import type { Call } from '../../http/endpoint.js'
import { ApiError, type ErrorKind } from '../../http/errors.js'
import type { WorkersDeps } from './index.js'
import { scriptOf } from './find.js'
import { belongings, referencesTo } from './references.js'

export const Force = Type.Object({
  force: Type.Boolean({ default: false, description: 'Even where other scripts use it.' }),
})

/** Deletes a script with all that belongs to it. Throws `scriptInUse` where others use it and no force is meant. */
export async function removeScript(
  deps: WorkersDeps,
  call: Call<string, unknown, { force: boolean }>,
  name: string,
  missing?: ErrorKind,
): Promise<null> {
  const { store, clock, edits, workers } = deps
  const { scope, query } = call
  await edits.run(scope.id, async () => {
    const before = scriptOf(deps, scope, name, missing)
    const { services, durable_objects, tails } = referencesTo(deps, scope, name)
    const users = new Set([...services, ...durable_objects.map(({ script }) => script), ...tails])
    if (users.size > 0 && !query.force)
      throw new ApiError('scriptInUse', undefined, `the script is used by ${[...users].slice(0, 20).join(', ')}`)
    await store.batch(
      [...workers().repository.removal(scope, before), ...belongings(deps, scope, name)],
      [audit(clock, call, { kind: WORKER_SCRIPTS, scope, id: name, before: before.value })],
    )
  })
  return null
}
