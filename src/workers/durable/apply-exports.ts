import {
  transferId,
  WORKER_DEPLOYMENTS,
  WORKER_NAMESPACES,
  WORKER_SCRIPTS,
  WORKER_TRANSFERS,
  WORKER_VERSIONS,
  type Binding,
  type ExportKind,
  type StoredScript,
} from '../../core/model/worker.js'
import { pointerToken } from '../../core/schema.js'
import type { Scope } from '../../core/scope.js'
import type { Store, Write } from '../../core/store.js'
import { reject, type UploadIssue } from '../upload-errors.js'
import type { Metadata } from '../metadata/schema.js'
import { migrate } from './migrations.js'
import { reconcile, undeclaredClasses } from './reconcile.js'
import { emptyReconciliation, type Reconciliation } from './reconciliation.js'
import { DurableDraft } from './state.js'

export interface ExportsInput {
  readonly store: Store
  readonly scope: Scope
  readonly script: string
  readonly before: StoredScript | undefined
  readonly metadata: Pick<Metadata, 'exports' | 'migrations' | 'containers' | 'bindings'>
  /** Exported names of the new code. */
  readonly code: ReadonlyMap<string, ExportKind>
  /** Bindings of the new version. */
  readonly bindings: readonly Binding[]
  /** False if the version is stored without being deployed. It changes no classes yet. */
  readonly deployed: boolean
}

/** Changes that an upload makes to Durable Object classes. */
export interface AppliedExports {
  /** For the batch that the version is stored in. */
  readonly writes: readonly Write[]
  readonly migration_tag: string | undefined
  readonly declarative: boolean
  /** Only if the metadata had `exports`. */
  readonly reconciliation: Reconciliation | undefined
}

/** Runs the migration of an upload or reconciles its exports, and checks its bindings against the outcome. Throws UploadRefused. */
export function applyExports(input: ExportsInput): AppliedExports {
  const { store, scope, before, metadata, deployed } = input
  const { exports, migrations } = metadata
  const draft = draftOf(store, scope)
  if (!deployed && migrations)
    reject([
      { kind: 'versionMigration', pointer: '/migrations', message: 'a version that is not deployed cannot migrate' },
    ])
  const declarative = before?.declarative === true || declares(exports)
  if (declarative && migrations)
    reject([
      {
        kind: 'invalidScript',
        pointer: '/migrations',
        message: 'cannot be combined with a script that declares its classes in exports',
      },
    ])
  const reconciliation = declarative
    ? reconciled(input, draft)
    : { ...emptyReconciliation(), info: undeclaredClasses(input.code, (name) => !!draft.find(input.script, name)) }
  if (!declarative) reject(migrated(input, draft))
  reject(bindingIssues(input, draft, deployed || declarative ? 'classNotCreated' : 'unappliedMigration'))
  if (!deployed) reject(bindingIssues(input, draftOf(store, scope), 'undeployedExport'))
  return {
    writes: deployed ? writesOf(scope, draft, store) : [],
    migration_tag: migrations ? (migrations.new_tag ?? before?.migration_tag) : before?.migration_tag,
    declarative,
    reconciliation: exports && reconciliation,
  }
}

/** Returns the current Durable Object classes of an account. */
export const draftOf = (store: Store, scope: Scope): DurableDraft =>
  new DurableDraft({
    namespaces: store.list(WORKER_NAMESPACES, scope).map(({ value }) => value),
    transfers: store.list(WORKER_TRANSFERS, scope).map(({ value }) => value),
  })

/** Returns whether `exports` declares Durable Object classes. From then on, namespaces follow from the exports. */
export const declares = (exports: Metadata['exports']): boolean =>
  Object.values(exports ?? {}).some(({ type }) => type === 'durable-object')

const mayBeClass = (kind: ExportKind | undefined): boolean => kind === 'durable-object' || kind === 'class'

/** Returns errors in a migration, and in code without a class that has a namespace. */
export function migrated(
  { script, before, metadata: { migrations }, code }: ExportsInput,
  draft: DurableDraft,
): UploadIssue[] {
  const classes = new Set([...code].filter(([, kind]) => mayBeClass(kind)).map(([name]) => name))
  const issues = migrations ? migrate(draft, { script, migrations, currentTag: before?.migration_tag, classes }) : []
  if (issues.length > 0) return issues
  return draft.of(script).flatMap(({ class: name }): UploadIssue[] => {
    const message = `the script no longer exports the class ${name}, which has a namespace; delete it with a migration first`
    return classes.has(name) ? [] : [{ kind: 'classNotExported', message }]
  })
}

/** Brings the draft in line with `exports`. Throws UploadRefused. */
export function reconciled(
  { store, scope, script, metadata, code }: ExportsInput,
  draft: DurableDraft,
): Reconciliation {
  const { exports = {}, containers = [] } = metadata
  const { result, errors } = reconcile(draft, {
    script,
    exports,
    code,
    containers,
    scriptExists: (name) => name === script || store.get(WORKER_SCRIPTS, scope, name) !== undefined,
    referencing: (className, namespaceId) => referencing(store, scope, { script, className, namespaceId }),
  })
  const [first] = errors
  if (!first) return result
  const others = errors.length > 1 ? `, and ${errors.length - 1} more` : ''
  reject([
    {
      kind: 'exportsConflict',
      ...(Object.hasOwn(exports, first.class) && { pointer: `/exports/${pointerToken(first.class)}` }),
      message: `exports cannot be reconciled: ${first.class}: ${first.message}${others}`,
      meta: { details: errors },
    },
  ])
  return result
}

interface Referenced {
  readonly script: string
  readonly className: string
  readonly namespaceId?: string | undefined
}

/** Other scripts that have a binding to a class in a version that serves requests, or in their latest one. */
function referencing(store: Store, scope: Scope, { script, className, namespaceId }: Referenced): string[] {
  const points = ({ type, class_name, script_name, namespace_id }: Binding): boolean =>
    type === 'durable_object_namespace' &&
    ((class_name === className && script_name === script) ||
      (namespaceId !== undefined && namespace_id === namespaceId))
  return store
    .list(WORKER_SCRIPTS, scope)
    .filter(({ id }) => id !== script)
    .filter(({ value: { versions, deployments } }) => {
      const [latest] = versions
      const [current] = deployments
      const served = current === undefined ? undefined : store.get(WORKER_DEPLOYMENTS, scope, current)?.value.versions
      const ids = new Set([
        ...(latest === undefined ? [] : [latest]),
        ...(served ?? []).map(({ version_id }) => version_id),
      ])
      return [...ids].some((id) => store.get(WORKER_VERSIONS, scope, id)?.value.bindings.some(points))
    })
    .map(({ id }) => id)
}

/** Bindings to classes that nobody has. */
export function bindingIssues(
  { script, bindings, metadata }: ExportsInput,
  draft: DurableDraft,
  own: 'classNotCreated' | 'unappliedMigration' | 'undeployedExport',
): UploadIssue[] {
  return bindings.flatMap((binding): UploadIssue[] => {
    const {
      type,
      name,
      class_name: className,
      script_name: other,
      namespace_id: id,
      dispatch_namespace: dispatch,
    } = binding
    if (type !== 'durable_object_namespace' || dispatch !== undefined) return []
    const owner = typeof other === 'string' ? other : script
    const found =
      typeof className === 'string'
        ? (draft.find(owner, className) ?? draft.transfers((one) => one.target === owner && one.class === className)[0])
        : draft.byId(String(id))
    if (found) return []
    const index = metadata.bindings?.findIndex((one) => one.name === name) ?? -1
    const what =
      typeof className === 'string' ? `the class ${className} of the script ${owner}` : `the namespace ${String(id)}`
    return [
      {
        kind: owner === script ? own : 'classNotCreated',
        ...(index >= 0 && {
          pointer: `/bindings/${index}/${typeof className === 'string' ? 'class_name' : 'namespace_id'}`,
        }),
        message: `the binding ${name} names ${what}, which no deployed migration or export has created`,
      },
    ]
  })
}

/** Returns the writes for the changes of the draft. The batch fails if another machine changed the same namespaces. */
export function writesOf(scope: Scope, draft: DurableDraft, store: Store): Write[] {
  const { namespaces, transfers } = draft.change()
  const waits = new Map(
    transfers.map(({ transfer, gone }) => [transferId(transfer.target, transfer.class), gone ? undefined : transfer]),
  )
  return [
    ...[...namespaces].map(([id, value]) => ({
      kind: WORKER_NAMESPACES,
      scope,
      id,
      value,
      ifVersion: store.get(WORKER_NAMESPACES, scope, id)?.version ?? 0,
    })),
    ...[...waits].map(([id, value]) => ({ kind: WORKER_TRANSFERS, scope, id, value })),
  ]
}
