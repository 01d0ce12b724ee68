import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { AuditRetention } from '../core/store.js'
import type { Disk } from '../disk/durable-write.js'

/** Options of every store. */
export interface StoreOptions {
  /** Folder of the embedded store. Created if absent, for its owner only. Not used by other stores. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly retention: AuditRetention
  /** File system in which the embedded store creates its folder. Default: that of Node. */
  readonly disk?: Disk
}
