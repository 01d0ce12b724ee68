import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { AuditRetention } from '../core/store.js'
import type { Disk } from '../disk/durable-write.js'

/** What every store is opened with. */
export interface StoreOptions {
  /** Folder of the embedded store; made when absent, for its owner only. Other stores do not touch it. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly retention: AuditRetention
  /** File system in which the embedded store creates its folder. Default: that of Node. */
  readonly disk?: Disk
}
