import type { Binding, StoredVersion } from '../../../src/core/model/worker.js'
import { applyDeployment } from '../../../src/workers/durable/apply-deployment.js'
import { reject, UploadRefused } from '../../../src/workers/upload-errors.js'
import { resolveBindings } from '../../../src/workers/inherited-bindings.js'
import { bindingIssues } from '../../../src/workers/metadata/check.js'
import { isSecret } from '../../../src/workers/secrets.js'
import type { Call } from '../../http/endpoint.js'
import { ApiError } from '../../http/errors.js'
import type { WorkersDeps } from './index.js'
import { withApiErrors } from './api-errors.js'
import { saveNextVersion } from './next-version.js'

/** Changes of bindings, by name. Null removes a binding. Other bindings stay. */
export interface BindingChanges {
  readonly changes: ReadonlyMap<string, Binding | null>
  /** Pointer to a binding in the request. */
  readonly pointer: (name: string) => string
  /** Bindings other than secrets are unchanged, and a secret cannot have their names. */
  readonly secretsOnly?: boolean
  /** Deploys the version. */
  readonly deploy: boolean
  readonly annotations: Readonly<Record<string, string>>
}

/** Makes a version of the latest one with other bindings. */
export async function saveBindings(
  deps: WorkersDeps,
  call: Call,
  name: string,
  { changes, pointer, secretsOnly = false, deploy, annotations }: BindingChanges,
): Promise<StoredVersion> {
  const { bindings: max, value_bytes: valueBytes } = deps.workers().limits().quotas
  const given = [...changes.values()].filter((binding) => binding !== null)
  const { version } = await saveNextVersion(deps, call, {
    name,
    deploy,
    annotations,
    make: async ({ before, draft }) =>
      await withApiErrors(() => {
        const kept = draft.bindings.filter(
          (binding) => !changes.has(binding.name) || (secretsOnly && !isSecret(binding)),
        )
        const taken = kept.find((binding) => changes.get(binding.name))
        if (taken)
          throw new ApiError('bindingTaken', `${pointer(taken.name)}/name`, `${taken.name} is a binding already`)
        if (kept.length + given.length > max) throw new ApiError('tooManyBindings')
        const added = pointed(given, pointer, () => {
          reject(bindingIssues(given, { bindings: max, valueBytes }))
          return resolveBindings({ bindings: given, keep: [], before: draft.bindings, strict: true })
        })
        const bindings = [...kept, ...added]
        applyDeployment(deps.store, call.scope, { before: before.value, versions: [{ ...draft, bindings }] })
        return { draft: { bindings }, more: undefined }
      }),
  })
  if (deploy) await deps.workers().runtime?.applied(call.scope)
  return version
}

/** A pointer into a list of bindings. */
const BINDING = /^\/bindings\/(\d+)(.*)$/s

/** Maps pointers of errors in a list of bindings to their places in the request. */
function pointed<T>(given: readonly Binding[], pointer: (name: string) => string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error
    throw new UploadRefused(
      error.issues.map((issue) => {
        const [, at = '', rest = ''] = BINDING.exec(issue.pointer ?? '') ?? []
        const binding = given[Number(at)]
        return binding ? { ...issue, pointer: pointer(binding.name) + rest } : issue
      }),
    )
  }
}
