import { BlobLost, type Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import { newId, newUuid } from '../core/ids.js'
import {
  WORKER_DEPLOYMENTS,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type Binding,
  type StoredDeployment,
  type StoredModule,
  type StoredScript,
  type StoredVersion,
} from '../core/model/worker.js'
import type { Scope } from '../core/scope.js'
import type { AuditEntry, Store, Stored, Write } from '../core/store.js'
import { secretOf, type Vault } from '../core/vault.js'
import { openBinding, sealBinding } from './secrets.js'

/** A version to be stored. Its modules are already in the blobs, and its secrets are unencrypted. */
export type VersionDraft = Omit<StoredVersion, 'id' | 'script' | 'number' | 'created_on'>

/** Changes to the script of a version, in addition to the new version itself. */
export type ScriptChange = Partial<
  Pick<StoredScript, 'migration_tag' | 'declarative' | 'logpush' | 'tags' | 'tail_consumers' | 'last_deployed_from'>
> & { readonly observability?: StoredScript['observability'] | undefined }

/** Who deploys, and why. */
export interface DeploymentNote {
  readonly source: string
  readonly author_email: string
  readonly annotations: Readonly<Record<string, string>>
}

/** Writes in the same batch as a change. */
interface Alongside {
  readonly writes?: readonly Write[]
  /** The audit entry for the script, before (absent if it is new) and after. */
  readonly audit: (before: StoredScript | undefined, after: StoredScript) => AuditEntry
}

export interface SaveVersion extends Alongside {
  readonly scope: Scope
  readonly name: string
  /** The script as it was read. Undefined if the script must not exist. */
  readonly before: Stored<StoredScript> | undefined
  readonly draft: VersionDraft
  readonly change?: ScriptChange
  /** Deploys the version for all requests. Without it, the version is only stored. */
  readonly deploy?: DeploymentNote
}

export interface SaveDeployment extends Alongside {
  readonly scope: Scope
  readonly before: Stored<StoredScript>
  readonly versions: StoredDeployment['versions']
  readonly note: DeploymentNote
  readonly change?: Pick<ScriptChange, 'declarative' | 'last_deployed_from'>
}

export interface ScriptRepositoryDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly vault: Vault
  readonly clock: Clock
  /** Maximum number of each that is retained per script. */
  readonly keep: () => { readonly versions: number; readonly deployments: number }
}

/**
 * The scripts of all accounts. A version is stored together with its modules, its deployment and the change of its
 * script, or not at all. Writes reject with VersionConflict if the script changed since it was read.
 */
export class ScriptRepository {
  readonly #deps: ScriptRepositoryDeps

  constructor(deps: ScriptRepositoryDeps) {
    this.#deps = deps
  }

  script(scope: Scope, name: string): Stored<StoredScript> | undefined {
    return this.#deps.store.get(WORKER_SCRIPTS, scope, name)
  }

  /** Returns a version by id; `latest` is the newest, `deployed` the one with the largest share of requests. Undefined if it does not exist. */
  readVersion(scope: Scope, script: StoredScript, which: string): StoredVersion | undefined {
    const id = which === 'latest' ? script.versions[0] : which === 'deployed' ? this.#deployed(scope, script) : which
    if (id === undefined || !script.versions.includes(id)) return undefined
    return this.#deps.store.get(WORKER_VERSIONS, scope, id)?.value
  }

  /** Returns the deployment in force. */
  readDeployment(scope: Scope, script: StoredScript): StoredDeployment | undefined {
    const [id] = script.deployments
    return id === undefined ? undefined : this.#deps.store.get(WORKER_DEPLOYMENTS, scope, id)?.value
  }

  /** Returns the bindings of a version with their secrets unencrypted, for a draft or for running the script. */
  openBindings(scope: Scope, { id, bindings }: StoredVersion): Binding[] {
    const aad = secretOf(WORKER_VERSIONS, scope, id)
    return bindings.map((binding) => openBinding(binding, (sealed) => this.#deps.vault.open(sealed, aad)))
  }

  /** Resolves with the bytes of a module. Rejects if they are lost. */
  async readModule({ name, blob }: StoredModule): Promise<Buffer> {
    const bytes = await this.#deps.blobs.get(blob)
    if (!bytes) throw new BlobLost(blob, 'missing', `the module ${name}`)
    return bytes
  }

  /** Stores the bytes of modules for a draft that is saved soon. Bytes that no version refers to are deleted later. */
  async putModules(
    files: readonly (Omit<StoredModule, 'blob' | 'size'> & { readonly bytes: Uint8Array })[],
  ): Promise<StoredModule[]> {
    const stored: StoredModule[] = []
    for (const { name, part = name, type, bytes } of files) {
      const blob = await this.#deps.blobs.put(bytes)
      stored.push({ name, ...(part !== name && { part }), type, blob, size: bytes.length })
    }
    return stored
  }

  /** Adds a version, and the script if the version is its first. */
  async saveVersion(save: SaveVersion): Promise<{ script: StoredScript; version: StoredVersion }> {
    const { store, vault } = this.#deps
    const { scope, name, before, draft, change = {}, deploy } = save
    const now = this.#now()
    const id = newUuid()
    const aad = secretOf(WORKER_VERSIONS, scope, id)
    const version: StoredVersion = {
      ...draft,
      id,
      script: name,
      number: (before?.value.number ?? 0) + 1,
      created_on: now,
      bindings: draft.bindings.map((binding) => sealBinding(binding, (text) => vault.seal(text, aad))),
    }
    const old = before?.value ?? newScript(name, now)
    const deployment = deploy && deploymentOf(name, now, [{ version_id: id, percentage: 100 }], deploy)
    const { observability = 'observability' in change ? undefined : old.observability, ...rest } = change
    const { observability: _replaced, ...base } = old
    const script = this.#trimmed(
      scope,
      {
        ...base,
        ...rest,
        ...(observability && { observability }),
        modified_on: now,
        number: version.number,
        versions: [id, ...old.versions],
        deployments: [...(deployment ? [deployment.id] : []), ...old.deployments],
      },
      deployment,
    )
    await store.batch(
      [
        { kind: WORKER_SCRIPTS, scope, id: name, value: script, ifVersion: before?.version ?? 0 },
        { kind: WORKER_VERSIONS, scope, id, value: version, ifVersion: 0 },
        ...(deployment ? [this.#write(scope, deployment)] : []),
        ...gone(scope, old, script),
        ...(save.writes ?? []),
      ],
      [save.audit(before?.value, script)],
    )
    return { script, version }
  }

  /** Puts versions of a script in force. */
  async saveDeployment(save: SaveDeployment): Promise<{ script: StoredScript; deployment: StoredDeployment }> {
    const { scope, before, versions, note, change = {} } = save
    const { value: old } = before
    const now = this.#now()
    const deployment = deploymentOf(old.name, now, versions, note)
    const changed = { ...old, ...change, modified_on: now, deployments: [deployment.id, ...old.deployments] }
    const script = this.#trimmed(scope, changed, deployment)
    await this.#deps.store.batch(
      [
        { kind: WORKER_SCRIPTS, scope, id: old.name, value: script, ifVersion: before.version },
        this.#write(scope, deployment),
        ...gone(scope, old, script),
        ...(save.writes ?? []),
      ],
      [save.audit(old, script)],
    )
    return { script, deployment }
  }

  /** Returns the writes that remove a script with its versions and deployments. */
  removal(scope: Scope, { value, version }: Stored<StoredScript>): Write[] {
    return [
      { kind: WORKER_SCRIPTS, scope, id: value.name, value: undefined, ifVersion: version },
      ...value.versions.map((id) => ({ kind: WORKER_VERSIONS, scope, id, value: undefined })),
      ...value.deployments.map((id) => ({ kind: WORKER_DEPLOYMENTS, scope, id, value: undefined })),
    ]
  }

  #deployed(scope: Scope, script: StoredScript): string | undefined {
    const shares = this.readDeployment(scope, script)?.versions ?? []
    return [...shares].sort((a, b) => b.percentage - a.percentage)[0]?.version_id
  }

  /**
   * Returns the script without versions and deployments beyond the retained number. `current` is the deployment that is
   * about to be in force.
   */
  #trimmed(scope: Scope, script: StoredScript, current: StoredDeployment | undefined): StoredScript {
    const { versions, deployments } = this.#deps.keep()
    const inForce = current ?? this.readDeployment(scope, script)
    const served = new Set(inForce?.versions.map(({ version_id }) => version_id))
    return {
      ...script,
      versions: script.versions.filter((id, index) => index < versions || served.has(id)),
      deployments: script.deployments.slice(0, deployments),
    }
  }

  #write(scope: Scope, deployment: StoredDeployment): Write {
    return { kind: WORKER_DEPLOYMENTS, scope, id: deployment.id, value: deployment, ifVersion: 0 }
  }

  #now(): string {
    return new Date(this.#deps.clock.now()).toISOString()
  }
}

/** Creates a script without versions. */
export const newScript = (name: string, now: string): StoredScript => ({
  name,
  tag: newId(),
  created_on: now,
  modified_on: now,
  versions: [],
  number: 0,
  deployments: [],
  declarative: false,
  logpush: false,
  tags: [],
  tail_consumers: [],
})

const deploymentOf = (
  script: string,
  created_on: string,
  versions: StoredDeployment['versions'],
  note: DeploymentNote,
): StoredDeployment => ({ id: newUuid(), script, created_on, strategy: 'percentage', versions, ...note })

/** Returns the writes that delete the records of parts that a script no longer has. */
function gone(scope: Scope, before: StoredScript, after: StoredScript): Write[] {
  const versions = new Set(after.versions)
  const deployments = new Set(after.deployments)
  return [
    ...before.versions
      .filter((id) => !versions.has(id))
      .map((id) => ({ kind: WORKER_VERSIONS, scope, id, value: undefined })),
    ...before.deployments
      .filter((id) => !deployments.has(id))
      .map((id) => ({ kind: WORKER_DEPLOYMENTS, scope, id, value: undefined })),
  ]
}
