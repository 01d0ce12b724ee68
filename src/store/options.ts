import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { AuditRetention } from '../core/store.js'
import type { Disk } from '../disk/durable-write.js'

/** Options of every store. */
export interface StoreOptions {
  /** Data folder, for the embedded store and for copies before a migration. Created if absent, for its owner only. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly retention: AuditRetention
  /** Accepts that all records in Redis are gone. Otherwise a machine that had some there rejects the empty store. */
  readonly acceptEmpty?: boolean
  /** File system in which the embedded store creates its folder. Default: that of Node. */
  readonly disk?: Disk
}
