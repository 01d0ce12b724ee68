import type { StoredScript } from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import type { Store, Write } from '../../core/store.js'
import { reject, UploadRefused } from '../upload-errors.js'
import type { Metadata } from '../metadata/schema.js'
import type { VersionDraft } from '../script-repository.js'
import { bindingIssues, declares, draftOf, migrated, reconciled, writesOf, type ExportsInput } from './apply-exports.js'

/** Changes that a deployment makes to Durable Object classes. */
export interface AppliedDeployment {
  /** For the batch that the deployment is stored in. */
  readonly writes: readonly Write[]
  readonly declarative: boolean
}

export interface DeploymentInput {
  readonly before: StoredScript
  readonly versions: readonly VersionDraft[]
  /** Pointer to a version in the request. */
  readonly pointer?: (index: number) => string
}

/**
 * Reconciles the exports of versions that are about to serve, and checks that the code of each has the classes and
 * bindings that there will be. Throws UploadRefused, with pointers to the versions.
 */
export function applyDeployment(
  store: Store,
  scope: Scope,
  { before, versions, pointer }: DeploymentInput,
): AppliedDeployment {
  const declarative = before.declarative || versions.some(({ exports }) => declares(exports))
  // The versions declare the same classes, so the draft of the first version represents all.
  const drafts = versions.map((version, index) => {
    const draft = draftOf(store, scope)
    const input = inputOf(store, scope, before, version)
    pointedAt(pointer?.(index), () => {
      if (declarative) reconciled(input, draft)
      else reject(migrated(input, draft))
      reject(bindingIssues(input, draft, 'classNotCreated'))
    })
    return draft
  })
  const [draft] = drafts
  return { writes: declarative && draft ? writesOf(scope, draft, store) : [], declarative }
}

function inputOf(store: Store, scope: Scope, before: StoredScript, version: VersionDraft): ExportsInput {
  const { exports, named, bindings, metadata } = version
  const { containers } = metadata as Pick<Metadata, 'containers'>
  return {
    store,
    scope,
    script: before.name,
    before,
    metadata: { ...(exports && { exports }), ...(containers && { containers }) },
    code: new Map(named.map(({ name, kind }) => [name, kind])),
    bindings,
    deployed: true,
  }
}

function pointedAt(pointer: string | undefined, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof UploadRefused)) throw error
    throw new UploadRefused(
      error.issues.map(({ pointer: _own, ...issue }) => ({ ...issue, ...(pointer !== undefined && { pointer }) })),
    )
  }
}
