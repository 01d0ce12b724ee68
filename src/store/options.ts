import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { AuditRetention } from '../core/store.js'

/** What every store is opened with. */
export interface StoreOptions {
  /** Folder of the embedded store; made when absent, for its owner only. Other stores do not touch it. */
  readonly folder: string
  readonly log: Log
  readonly clock: Clock
  readonly retention: AuditRetention
}
