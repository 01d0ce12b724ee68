import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { AuditRetention } from '../../core/store.js'
import type { Disk } from '../../disk/durable-write.js'

/** Losses with which a store is still opened. */
export interface AcceptedLosses {
  /**
   * Accepts that all records in Redis are lost. Otherwise a machine whose records were there rejects the empty store.
   */
  readonly acceptEmpty?: boolean
  /** Accepts that confirmed writes of the embedded store are lost. Otherwise it is not opened. */
  readonly acceptLoss?: boolean
}

/** Options of every store. */
export interface StoreOptions extends AcceptedLosses {
  /** Data folder, for the embedded store and for copies before a migration. Created if absent, for its owner only. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly retention: AuditRetention
  /** File system in which the embedded store creates its folder. The default is the file system of Node. */
  readonly disk?: Disk
}
