import type { Server } from 'node:http'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { StoredScript } from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import type { Vault } from '../../core/vault.js'
import type { ScriptRepository } from '../script-repository.js'
import type { DataHomes } from './data-homes.js'
import type { TunnelDeps } from './hyperdrive.js'
import type { ResourceHandlers } from './resource-server.js'

export interface RuntimeDeps {
  readonly binary: string
  readonly store: Store
  readonly repository: ScriptRepository
  readonly vault: Vault
  /** Connects to a database that API users name. Rejects if its address is not allowed. */
  readonly connect: TunnelDeps['connect']
  readonly clock: Clock
  readonly log: Log
  /** Folder of Durable Object and D1 data, one folder per account. */
  readonly objects: string
  /** Undefined if no other machine uses the store. */
  readonly homes: DataHomes | undefined
  readonly resources: ResourceHandlers
  /** Creates the server of outgoing requests of an account's scripts. */
  readonly outbound: (scope: Scope) => ClosableServer
  /** Whether trace events of a script are wanted. */
  readonly isTraced: (scope: Scope, script: StoredScript) => boolean
  /** Maximum time without a response to a health check. */
  readonly maxStallMs: () => number
}

/** A server, and how to end it with all of its connections. */
export interface ClosableServer {
  readonly server: Server
  close(): void
}
