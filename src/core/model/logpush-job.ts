import type { Sealed } from '../vault.js'
import { kind } from '../store.js'

/**
 * A job as it is stored. Members that were not given are absent, and the texts of `filter` and `logpull_options` and the
 * members of `output_options` are exactly what was given. Scope: account or zone; id: that of the job, in decimal.
 */
export interface LogpushJob {
  /** From 1, over the whole daemon. */
  readonly id: number
  readonly dataset: string
  /** Has credentials in it. */
  readonly destination_conf: Sealed
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

/** How a job fares; written by what runs it, apart from the job so that neither change gets in the way of the other. */
export interface LogpushStatus {
  /** RFC 3339; end of the range that was delivered last. */
  readonly last_complete: string | null
  readonly last_error: string | null
  readonly error_message: string | null
  /** RFC 3339; since when nothing has been delivered because of failures; null while all is well. */
  readonly failing_since: string | null
}

export const LOGPUSH_JOBS = kind<LogpushJob>('logpush_job')
/** Scope and id: those of the job. */
export const LOGPUSH_STATUS = kind<LogpushStatus>('logpush_status')
