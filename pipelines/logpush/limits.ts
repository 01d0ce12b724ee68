import { COMPRESSION_LEVELS, type CompressionLevel, type SinkLimits } from '../../src/core/sink.js'

/** What ends a batch, whichever comes first. Infinity if there is no such limit. */
export interface BatchLimits {
  /** Of text before any compression. A single record that is larger is a batch of its own. */
  readonly bytes: number
  readonly records: number
  readonly intervalMs: number
}

/** The members of a job that say how large its batches become. 0: no such limit; absent: the default. */
export interface UploadLimits {
  readonly max_upload_bytes?: number | null | undefined
  readonly max_upload_records?: number | null | undefined
  readonly max_upload_interval_seconds?: number | null | undefined
  /** Deprecated: `low` waits longer, for fewer and larger batches, where `max_upload_interval_seconds` says nothing. */
  readonly frequency?: 'high' | 'low' | null | undefined
  /** Maximum batches that are sent concurrently. */
  readonly edged_in_flight?: number | null | undefined
  readonly compression_level?: CompressionLevel | undefined
}

/** What a job can ask for at most; a batch ends there also where the job has no limit. */
const MAX_BYTES = 1_000_000_000
const RECORDS = 100_000
const INTERVAL_SECONDS = { high: 30, low: 300 }

/** While a job catches up, the records of one batch were accepted within this time. */
export const CATCH_UP_MS = 120_000

/** The limits of a job's batches; a destination's own hold whatever the job says. */
export function limitsOf(job: UploadLimits, sink: SinkLimits = {}): BatchLimits {
  const bytes = orOff(job.max_upload_bytes, MAX_BYTES)
  const records = orOff(job.max_upload_records, RECORDS)
  const seconds = orOff(job.max_upload_interval_seconds, INTERVAL_SECONDS[job.frequency ?? 'high'])
  return {
    bytes: Math.min(bytes, MAX_BYTES, sink.bytes ?? Infinity),
    records: Math.min(records, sink.records ?? Infinity),
    intervalMs: seconds * 1000,
  }
}

/** The level of gzip for the batches of a job; `absent` if its settings do not say. */
export function levelOf(
  { settings, format }: { readonly settings: UploadLimits; readonly format: { readonly type: 'csv' | 'ndjson' } },
  absent: CompressionLevel = 'auto',
): number {
  const level = settings.compression_level ?? absent
  return level === 'auto' ? COMPRESSION_LEVELS[format.type] : level
}

const orOff = (given: number | null | undefined, absent: number): number => (given === 0 ? Infinity : (given ?? absent))
