import { kind } from '../store.js'

/** A named binding of a script. Secret members hold a `Sealed` of their JSON. */
export interface Binding {
  readonly name: string
  readonly type: string
  readonly [field: string]: unknown
}

/** One uploaded file of a version. */
export interface StoredModule {
  /** Normalized path, without a leading `./`. */
  readonly name: string
  /** Name of its part of the form, which bindings refer to. Absent if it equals the path. */
  readonly part?: string
  /** Content type as uploaded, without parameters. */
  readonly type: string
  /** Name of the blob. */
  readonly blob: string
  readonly size: number
}

/** Format of the code of a version: ES modules, a service-worker script, or Python modules. */
export type ScriptFormat = 'modules' | 'service-worker' | 'python'

/** Types of exports. `class` is a class without a known base, such as an old-style Durable Object. */
export const EXPORT_KINDS = ['object', 'durable-object', 'entrypoint', 'workflow', 'class'] as const
export type ExportKind = (typeof EXPORT_KINDS)[number]

/** One export of the main module other than the default export, and its handlers. */
export interface NamedExport {
  readonly name: string
  readonly kind: ExportKind
  readonly handlers: readonly string[]
}

/** An entry of `exports`, as sent. */
export interface ExportEntry {
  readonly type: 'worker' | 'durable-object'
  readonly state?: 'created' | 'deleted' | 'renamed' | 'transferred' | 'expecting-transfer'
  readonly storage?: 'sqlite' | 'legacy-kv'
  readonly container?: string
  readonly renamed_to?: string
  readonly transferred_to?: string
  readonly transfer_from?: string
  readonly cache?: { readonly enabled: boolean }
}

export interface Placement {
  readonly [field: string]: unknown
}

/** The static assets of a version. */
export interface StoredAssets {
  /** Name of the blob that holds the manifest. */
  readonly manifest: string
  /** Validated: HTML handling, not-found handling, rules for headers and redirects, base path. */
  readonly config: Readonly<Record<string, unknown>>
}

/** One version of a script, with everything needed to run it. Immutable. */
export interface StoredVersion {
  /** UUID. */
  readonly id: string
  /** Name of the script. */
  readonly script: string
  /** Starts at 1 and grows by 1 with each version of the script. */
  readonly number: number
  readonly created_on: string
  readonly author: { readonly id: string; readonly email?: string }
  /** Origin of the version: `api`, `wrangler`, ... */
  readonly source: string
  readonly annotations: Readonly<Record<string, string>>
  readonly format: ScriptFormat
  /** The main module. Undefined for a script with assets only. */
  readonly main?: string
  readonly modules: readonly StoredModule[]
  /** SHA-256 over the modules, their names and types, and the type of the main one; 64 hexadecimal digits. */
  readonly etag: string
  /** Handlers of the default export, or events that a service-worker script listens to. */
  readonly handlers: readonly string[]
  readonly named: readonly NamedExport[]
  readonly startup_time_ms: number
  /** Encrypted for this record: `secretOf(WORKER_VERSIONS, scope, id)`. */
  readonly bindings: readonly Binding[]
  readonly compatibility_date?: string
  readonly compatibility_flags: readonly string[]
  readonly usage_model: string
  readonly limits?: Readonly<Record<string, unknown>>
  readonly placement?: Placement
  readonly cache_options?: { readonly enabled: boolean; readonly cross_version_cache?: boolean }
  readonly observability?: Readonly<Record<string, unknown>>
  /** As sent, tombstones included. Absent if none were sent. */
  readonly exports?: Readonly<Record<string, ExportEntry>>
  /** Migration tag of the script after this version was created. */
  readonly migration_tag?: string
  readonly assets?: StoredAssets
  /** Members of the metadata without a field here, known or not. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Versions. The scope is the account. The id is the version's id. */
export const WORKER_VERSIONS = kind<StoredVersion>('worker_version')

/** The versions that serve requests, and the share of each. The shares add up to 100. */
export interface StoredDeployment {
  readonly id: string
  readonly script: string
  readonly created_on: string
  readonly source: string
  readonly strategy: 'percentage'
  readonly author_email: string
  readonly annotations: Readonly<Record<string, string>>
  readonly versions: readonly { readonly version_id: string; readonly percentage: number }[]
}

/** Deployments. The scope is the account. The id is the deployment's id. */
export const WORKER_DEPLOYMENTS = kind<StoredDeployment>('worker_deployment')

/** Other recipients of the trace of a script. */
export interface TailConsumer {
  readonly service: string
  readonly environment?: string
  readonly namespace?: string
}

/**
 * The members of a script that do not depend on the version. Every change of versions and deployments changes it too.
 */
export interface StoredScript {
  readonly name: string
  /** Permanent id, 32 hexadecimal digits. */
  readonly tag: string
  readonly created_on: string
  readonly modified_on: string
  /** Ids of the stored versions, newest first. */
  readonly versions: readonly string[]
  /** Number of the newest version. */
  readonly number: number
  /** Ids of the stored deployments, newest first. The first one is active. Empty if nothing was deployed yet. */
  readonly deployments: readonly string[]
  readonly last_deployed_from?: string
  /** Tag of the last migration. */
  readonly migration_tag?: string
  /** Durable Object classes are declared by `exports`, not by migrations. */
  readonly declarative: boolean
  readonly logpush: boolean
  readonly tags: readonly string[]
  readonly tail_consumers: readonly TailConsumer[]
  readonly observability?: Readonly<Record<string, unknown>>
}

/** Scripts. The scope is the account. The id is the name. */
export const WORKER_SCRIPTS = kind<StoredScript>('worker_script')

/** The storage namespace of one Durable Object class. */
export interface StoredNamespace {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly script: string
  readonly class: string
  readonly use_sqlite: boolean
  /** Name of the container of each object. */
  readonly container?: string
  /** The script that transferred it. */
  readonly received_from?: string
}

/** Namespaces. The scope is the account. The id is the namespace's id. */
export const WORKER_NAMESPACES = kind<StoredNamespace>('worker_namespace')

/** A script that waits for the transfer of a class, as in `expecting-transfer`. This is phase one of a transfer. */
export interface StoredTransfer {
  /** The waiting script. */
  readonly target: string
  readonly class: string
  /** The current script of the class. */
  readonly source: string
  readonly storage: 'sqlite' | 'legacy-kv'
  readonly container?: string
}

/** Transfers. The scope is the account. The id is {@link transferId}. */
export const WORKER_TRANSFERS = kind<StoredTransfer>('worker_transfer')
export const transferId = (target: string, className: string): string => `${target}:${className}`
