import type { WorkersConfig } from '../../../src/config/schema.js'
import type { Blobs } from '../../../src/core/blobs.js'
import type { Vault } from '../../../src/core/vault.js'
import type { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import type { AssetUploads } from '../../../src/workers/assets/uploads.js'
import type { CodeReader } from '../../../src/workers/code/reader.js'
import type { Runtime } from '../../../src/workers/runtime/runtime.js'
import type { ScriptRepository } from '../../../src/workers/script-repository.js'
import type { Scope } from '../../../src/core/scope.js'
import type { KeyedEdits } from '../../resources/keyed-edits.js'
import type { ControlDeps } from '../../http/context.js'
import type { Tails } from './tail-sessions.js'

/** Services of the Workers area of the API besides configuration and store. */
export interface WorkersServices {
  readonly vault: Vault
  readonly blobs: Blobs
  readonly repository: ScriptRepository
  /** Memory of all uploads in progress. */
  readonly uploads: MemoryBudget
  readonly assets: AssetUploads
  readonly code: CodeReader
  readonly tails: Tails
  /** Runs scripts. Undefined if this server runs none. */
  readonly runtime: Runtime | undefined
  /** Returns the ids of the Durable Objects of a namespace whose data this machine has, in order. Not set: it has none. */
  readonly objectIds?: (scope: Scope, namespace: string) => Promise<readonly string[]>
  /** The configuration in force now. */
  readonly limits: () => WorkersConfig
}

export interface WorkersDeps extends ControlDeps {
  readonly workers: () => WorkersServices
  /** Writes to scripts take turns by the id of their account: some touch the Durable Object classes of several scripts. */
  readonly edits: KeyedEdits
}
