import { WORKER_SCRIPTS, type StoredScript, type StoredVersion } from '../../../src/core/model/worker.js'
import type { Stored, Write } from '../../../src/core/store.js'
import type { ScriptChange, VersionDraft } from '../../../src/workers/script-repository.js'
import { audit } from '../../resources/audit.js'
import type { Call } from '../../http/endpoint.js'
import { ApiError } from '../../http/errors.js'
import type { WorkersDeps } from './index.js'
import { scriptOf } from './find.js'
import { clientOf } from './request.js'

/** The version that a new version is created from. */
export interface PreviousVersion {
  readonly before: Stored<StoredScript>
  readonly latest: StoredVersion
  /** The latest version as a draft, its secrets in the clear. */
  readonly draft: VersionDraft
}

/** Members of the version that change. */
export interface Succession<M> {
  readonly draft: Partial<VersionDraft>
  readonly change?: ScriptChange
  readonly writes?: readonly Write[]
  /** Returned to the caller. */
  readonly more: M
}

export interface SuccessorOptions<M> {
  readonly name: string
  /** Deploys the version. Rejected as `notDeployed` if the latest version does not serve all requests. */
  readonly deploy: boolean
  readonly annotations: Readonly<Record<string, string>>
  readonly make: (from: PreviousVersion) => Succession<M> | Promise<Succession<M>>
}

/** Makes a version of a script from its latest one. */
export async function saveNextVersion<M>(
  { workers, edits, clock }: WorkersDeps,
  call: Call,
  { name, deploy, annotations, make }: SuccessorOptions<M>,
): Promise<{ script: StoredScript; version: StoredVersion; more: M }> {
  const { repository } = workers()
  const { scope, caller } = call
  return await edits.run(scope.id, async () => {
    const before = scriptOf({ workers }, scope, name)
    const latest = repository.readVersion(scope, before.value, 'latest')
    if (!latest) throw new ApiError('scriptVersionNotFound', undefined, 'the script has no version yet')
    const inForce = repository.readDeployment(scope, before.value)?.versions
    if (deploy && !(inForce?.length === 1 && inForce[0]?.version_id === latest.id)) throw new ApiError('notDeployed')
    const { id: _id, script: _script, number: _number, created_on: _created, ...stored } = latest
    const source = clientOf(call.request)
    const draft = {
      ...stored,
      bindings: repository.openBindings(scope, latest),
      author: { id: caller.id, ...(caller.email !== undefined && { email: caller.email }) },
      source,
      annotations,
    }
    const { more, draft: changed, change, writes } = await make({ before, latest, draft })
    const saved = await repository.saveVersion({
      scope,
      name,
      before,
      draft: { ...draft, ...changed },
      ...(change && { change }),
      ...(writes && { writes }),
      ...(deploy && { deploy: { source, author_email: caller.email ?? '', annotations } }),
      audit: (old, after) => audit(clock, call, { kind: WORKER_SCRIPTS, scope, id: name, before: old, after }),
    })
    return { ...saved, more }
  })
}
