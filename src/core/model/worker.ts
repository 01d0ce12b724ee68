import { kind } from '../store.js'

/** What a binding gives to a script, under a name. Members that are secret hold a `Sealed` of their JSON. */
export interface Binding {
  readonly name: string
  readonly type: string
  readonly [field: string]: unknown
}

/** One uploaded file of a version. */
export interface StoredModule {
  /** Normalised path, without `./` in front. */
  readonly name: string
  /** Name of its part of the form, by which bindings know it; absent: the same. */
  readonly part?: string
  /** Content type as uploaded, without parameters. */
  readonly type: string
  /** Name of the blob. */
  readonly blob: string
  readonly size: number
}

/** How the code of a version is written: ES modules, a service-worker script, or Python modules. */
export type ScriptFormat = 'modules' | 'service-worker' | 'python'

/** What an exported name is. `class` is a class without a known base, such as an old-style Durable Object. */
export const EXPORT_KINDS = ['object', 'durable-object', 'entrypoint', 'workflow', 'class'] as const
export type ExportKind = (typeof EXPORT_KINDS)[number]

/** One exported name of the main module besides the default one, and the handlers that it has. */
export interface NamedExport {
  readonly name: string
  readonly kind: ExportKind
  readonly handlers: readonly string[]
}

/** An entry of `exports`, in its own words. */
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
  /** As checked: handling of HTML, of what is not found, rules for headers and redirects, base path. */
  readonly config: Readonly<Record<string, unknown>>
}

/** One version of a script: all that it takes to run it. Never changes. */
export interface StoredVersion {
  /** UUID. */
  readonly id: string
  /** Name of the script. */
  readonly script: string
  /** From 1, one more with each version of the script. */
  readonly number: number
  readonly created_on: string
  readonly author: { readonly id: string; readonly email?: string }
  /** What made it: `api`, `wrangler`, ... */
  readonly source: string
  readonly annotations: Readonly<Record<string, string>>
  readonly format: ScriptFormat
  /** The module that is run; undefined for a script of assets alone. */
  readonly main?: string
  readonly modules: readonly StoredModule[]
  /** SHA-256 over the modules, their names and types, and what the main one is; 64 hexadecimal digits. */
  readonly etag: string
  /** Of the default export, or what a service-worker script listens for. */
  readonly handlers: readonly string[]
  readonly named: readonly NamedExport[]
  readonly startup_time_ms: number
  /** Sealed for this record: `secretOf(WORKER_VERSIONS, scope, id)`. */
  readonly bindings: readonly Binding[]
  readonly compatibility_date?: string
  readonly compatibility_flags: readonly string[]
  readonly usage_model: string
  readonly limits?: Readonly<Record<string, unknown>>
  readonly placement?: Placement
  readonly cache_options?: { readonly enabled: boolean; readonly cross_version_cache?: boolean }
  readonly observability?: Readonly<Record<string, unknown>>
  /** As sent, tombstones included; absent where none were. */
  readonly exports?: Readonly<Record<string, ExportEntry>>
  /** The tag that the script had once this version was made. */
  readonly migration_tag?: string
  readonly assets?: StoredAssets
  /** Members of the metadata that have no field of their own here, known or not. */
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Versions: scope is the account, id that of the version. */
export const WORKER_VERSIONS = kind<StoredVersion>('worker_version')

/** Which versions serve requests, and which share of them each. The shares make 100. */
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

/** Deployments: scope is the account, id that of the deployment. */
export const WORKER_DEPLOYMENTS = kind<StoredDeployment>('worker_deployment')

/** Who else gets the trace of a script. */
export interface TailConsumer {
  readonly service: string
  readonly environment?: string
  readonly namespace?: string
}

/** A script: what does not change with its versions. Every change of versions and deployments changes it too. */
export interface StoredScript {
  readonly name: string
  /** Its id for ever, 32 hexadecimal digits. */
  readonly tag: string
  readonly created_on: string
  readonly modified_on: string
  /** Ids of the versions that are kept, newest first. */
  readonly versions: readonly string[]
  /** Number of the newest version. */
  readonly number: number
  /** Ids of the deployments that are kept, newest first: the first one is in force. None: nothing was deployed yet. */
  readonly deployments: readonly string[]
  readonly last_deployed_from?: string
  /** Tag of the last migration. */
  readonly migration_tag?: string
  /** Durable Object classes are told by `exports`, not by migrations. */
  readonly declarative: boolean
  readonly logpush: boolean
  readonly tags: readonly string[]
  readonly tail_consumers: readonly TailConsumer[]
  readonly observability?: Readonly<Record<string, unknown>>
}

/** Scripts: scope is the account, id is the name. */
export const WORKER_SCRIPTS = kind<StoredScript>('worker_script')

/** Where the objects of one Durable Object class live. */
export interface StoredNamespace {
  /** 32 hexadecimal digits. */
  readonly id: string
  readonly script: string
  readonly class: string
  readonly use_sqlite: boolean
  /** Name of the container that goes with each object. */
  readonly container?: string
  /** The script that handed it over. */
  readonly received_from?: string
}

/** Namespaces: scope is the account, id that of the namespace. */
export const WORKER_NAMESPACES = kind<StoredNamespace>('worker_namespace')

/** A script that waits to be handed a class, as `expecting-transfer` says: phase one of a transfer. */
export interface StoredTransfer {
  /** The script that waits. */
  readonly target: string
  readonly class: string
  /** The script that has the class now. */
  readonly source: string
  readonly storage: 'sqlite' | 'legacy-kv'
  readonly container?: string
}

/** Transfers: scope is the account, id by {@link transferId}. */
export const WORKER_TRANSFERS = kind<StoredTransfer>('worker_transfer')
export const transferId = (target: string, className: string): string => `${target}:${className}`
