import type { Binding, NamedExport, StoredNamespace, StoredVersion } from '../../core/model/worker.js'

/** One version of a script with everything that is needed to run it. */
export interface RunnableVersion {
  readonly version: StoredVersion
  /** With secrets unencrypted. */
  readonly bindings: readonly Binding[]
}

/** One script of an account. */
export interface RunnableScript {
  readonly name: string
  /** The version that service bindings, cron, queues and Durable Objects use, which is the newest of the deployment. */
  readonly primary: string
  readonly versions: readonly RunnableVersion[]
  /** Exports of the primary version, except for the default export. */
  readonly exported: readonly NamedExport[]
  readonly namespaces: readonly StoredNamespace[]
  /** Trace events are sent to the daemon. */
  readonly traced: boolean
  /** Scripts that receive trace events. */
  readonly tailConsumers: readonly string[]
}

/** A script of the account that runs in another process. */
export interface RemoteScript {
  readonly name: string
  /** Returns the path of the socket that leads to its process. */
  readonly peer: () => string
  /** Exports of the version that service bindings use, except for the default export. */
  readonly exported: readonly NamedExport[]
  /** Namespaces of the Durable Object classes that run there. */
  readonly namespaces: readonly StoredNamespace[]
  /** Versions of the script, if it runs on another machine. Requests that arrive here are forwarded. */
  readonly versions?: readonly string[]
  readonly primary?: string
}

/** Socket files and folders of one process. */
export interface RuntimePaths {
  /** Socket of the daemon that serves bindings. */
  readonly resources: string
  /** Socket of the daemon that accepts outgoing requests. */
  readonly outbound: string
  /** Folder of Durable Object data. Undefined if data is kept in memory. */
  readonly objects: string | undefined
}

/** Private request headers between daemon and runtime. Removed from what clients send. */
export const BLOB_HEADER = 'x-edged-cf'
export const PROTO_HEADER = 'x-edged-proto'
export const RESOURCE_HEADER = 'x-edged-resource'
export const SCRIPT_HEADER = 'x-edged-script'

/** Names of fields that clients and scripts must not set. */
export const PRIVATE_HEADERS: ReadonlySet<string> = new Set([
  BLOB_HEADER,
  PROTO_HEADER,
  RESOURCE_HEADER,
  SCRIPT_HEADER,
  'cdn-loop',
  'cf-visitor',
  'x-real-ip',
])

/** Id of the database that a request of the API is for. */
export const DATABASE_HEADER = 'x-edged-database'

/** Name of the service that secrets of stores are read from. */
export const SECRETS_SERVICE = 'secrets'

/**
 * Whether a process was killed because of a limit while a request was in flight. `script` is the process of the
 * request's script, which is a suspect. `other` is another process of the account, which the script may have called.
 * `away` means that the machine with the data of the account was lost.
 */
export type Cut = 'none' | 'script' | 'other' | 'away'
