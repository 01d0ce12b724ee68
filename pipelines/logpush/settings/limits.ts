import { COMPRESSION_LEVELS, type CompressionLevel, type SinkLimits } from '../../../src/core/sink.js'

/** Limits of a batch. The first limit that is reached ends the batch. Infinity means no limit. */
export interface BatchLimits {
  /** Of text before any compression. A single record that is larger is a batch of its own. */
  readonly bytes: number
  readonly records: number
  readonly intervalMs: number
}

/** Members of a job that limit its batches. 0 means no limit. The default applies if a member is absent. */
export interface UploadLimits {
  readonly max_upload_bytes?: number | null | undefined
  readonly max_upload_records?: number | null | undefined
  readonly max_upload_interval_seconds?: number | null | undefined
  /** Deprecated. `low` waits longer, for fewer and larger batches, unless `max_upload_interval_seconds` is set. */
  readonly frequency?: 'high' | 'low' | null | undefined
  /** Maximum batches that are sent concurrently. */
  readonly edged_in_flight?: number | null | undefined
  readonly compression_level?: CompressionLevel | undefined
}

/** Maximum limits of a job. A batch ends there even if the job has no limit. */
const MAX_BYTES = 1_000_000_000
const RECORDS = 100_000
const INTERVAL_SECONDS = { high: 30, low: 300 }

/** While a job catches up, the records of one batch were accepted within this time. */
export const CATCH_UP_MS = 120_000

/** Returns the limits of a job's batches. The destination's own limits always apply. */
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

/** Returns the gzip level for the batches of a job, or `absent` if its settings have none. */
export function levelOf(
  { settings, format }: { readonly settings: UploadLimits; readonly format: { readonly type: 'csv' | 'ndjson' } },
  absent: CompressionLevel = 'auto',
): number {
  const level = settings.compression_level ?? absent
  return level === 'auto' ? COMPRESSION_LEVELS[format.type] : level
}

const orOff = (given: number | null | undefined, absent: number): number => (given === 0 ? Infinity : (given ?? absent))
