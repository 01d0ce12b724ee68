import type { Lease, Presence } from '../leases.js'
import { kind } from '../store.js'
import type { Sealed } from '../vault.js'

/**
 * A stored job. Omitted members are absent. The strings of `filter` and `logpull_options` and the members of
 * `output_options` are exactly as sent. The scope is account or zone. The id is the job's id in decimal.
 */
export interface LogpushJob {
  /** Counts from 1, over the whole daemon. */
  readonly id: number
  readonly dataset: string
  /** Contains credentials. */
  readonly destination_conf: Sealed
  readonly edged_in_flight?: number | null
  readonly enabled: boolean
  readonly kind: '' | 'edge'
  readonly name?: string | null
  readonly filter?: string | null
  readonly filter_attack_traffic?: boolean
  readonly frequency?: 'high' | 'low' | null
  readonly logpull_options?: string | null
  readonly max_upload_bytes?: number | null
  readonly max_upload_interval_seconds?: number | null
  readonly max_upload_records?: number | null
  readonly output_options?: Readonly<Record<string, unknown>> | null
}

/** State of a job. Written by the job's runner, separate from the job so that their writes do not conflict. */
export interface LogpushStatus {
  /** RFC 3339. End of the range of the last delivery. */
  readonly last_complete: string | null
  readonly last_error: string | null
  readonly error_message: string | null
  /** RFC 3339. Start of the current series of failures. Null if the last delivery succeeded. */
  readonly failing_since: string | null
}

export const LOGPUSH_JOBS = kind<LogpushJob>('logpush_job')
/** Has the scope and id of the job. */
export const LOGPUSH_STATUS = kind<LogpushStatus>('logpush_status')

/** Whether records of a zone are retained for the API to return. The scope is the zone. The id is the zone's id. */
export const LOG_RETENTION = kind<{ readonly flag: boolean }>('log_retention')

/**
 * Lease of a cursor in a spool that several machines share. It has the scope of the records and the id of the cursor.
 */
export const LOGPUSH_LEASES = kind<Lease>('logpush_lease')
/** Presence of a machine that runs jobs of such a spool. */
export const LOGPUSH_MACHINES = kind<Presence>('logpush_machine')
