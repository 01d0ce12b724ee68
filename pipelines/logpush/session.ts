import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { CompressionLevel, Sink } from '../../src/core/sink.js'
import type { BatchBuffer } from './batch-buffer.js'
import type { CompiledJob } from './compiled-job.js'
import type { DeadLetter } from './dead-letter.js'
import type { JobSignal } from './job-signal.js'
import type { JobMetrics } from './metrics.js'
import type { Shared } from './shared-formatting.js'
import type { JobFilter } from './shared-filters.js'
import type { JobRows } from './shared-rows.js'
import type { SpoolPosition } from './spool-position.js'
import type { Cursor, ReadableSpool } from './spool/types.js'
import type { JobStatus } from './status.js'
import type { Tap } from './tap.js'
import type { Uploads } from './uploads.js'
import type { EventLoopYield } from '../../src/core/event-loop-yield.js'

/** What all jobs share. */
export interface SessionDeps {
  /** Names the folder of the spools. */
  readonly spools: { readonly id: string }
  readonly batchBuffer: BatchBuffer
  readonly uploads: Uploads
  readonly loop: EventLoopYield
  readonly deadLetter: DeadLetter
  /** Returns the level of gzip of jobs that do not say theirs. */
  readonly compressionLevel?: () => CompressionLevel
  readonly clock: Clock
  readonly log: Log
  /** From 0 to 1. */
  readonly random: () => number
}

/** What a job is while its settings stay the same. */
export interface SessionOf {
  readonly id: string
  readonly job: CompiledJob
  /** With jobs of the same recipe on the same spool. */
  readonly shared?: Shared | undefined
  /** With jobs of the same style on the same spool. */
  readonly rows?: JobRows | undefined
  /** With jobs of the same filter on the same spool. */
  readonly filter?: JobFilter | undefined
  readonly sink: Sink
  /** Shows the records. */
  readonly tap?: Tap | undefined
  /** Names the host or bucket. */
  readonly destination: string
  readonly spool: ReadableSpool
  readonly cursor: Pick<Cursor, 'state' | 'save'>
  readonly control: JobSignal
  readonly status: Pick<JobStatus, 'failing' | 'delivered' | 'failed'>
  readonly metrics: Omit<JobMetrics, 'remove'>
  /** The lines before this place are in the metrics, in this process. */
  readonly counted: { place: SpoolPosition }
  /** Called after each failure. */
  readonly failed: () => Promise<void>
}
