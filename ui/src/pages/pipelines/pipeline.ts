import type { Source } from '../../api/types.ts'

/** A pipeline or job that runs. */
export interface Running {
  readonly kind: 'pipeline' | 'job'
  readonly name: string
  readonly route?: string
  readonly dataset: string
  readonly source: string
  readonly destination_conf: string
  readonly state: 'running' | 'failing' | 'waiting' | 'ended'
  readonly error_message: string | null
  readonly records_read: number
  readonly records_invalid: number
  readonly records_lost?: number
  readonly records_repeated: number
  readonly records_sampled_out: number
  readonly records_delivered: number
  readonly records_dropped: number
  readonly delivered_bytes: number
  readonly upload_failures: number
  readonly lag_records: number
  readonly lag_seconds: number
  readonly batches_in_flight: number
  readonly edged_source?: Source | null
}

export interface OwnedPipeline extends Running {
  readonly owner: { readonly name: string; readonly path: string }
}

export const keyOf = ({ owner, name, route = '' }: OwnedPipeline): string => `${owner.path} ${name} ${route}`
