import type { Clock } from '../../src/core/clock.js'
import type { Log } from '../../src/core/log.js'
import type { OpenTransform } from '../../src/core/extension/record-transform.js'
import type { CompressionLevel, Sink } from '../../src/core/sink.js'
import type { AttemptLog } from './attempt-log.js'
import type { BatchBuffer } from './batches/batch-buffer.js'
import type { CompiledJob } from './settings/compiled-job.js'
import type { DeadLetterIndex } from './dead-letter-index.js'
import type { DeadLetter } from './dead-letter.js'
import type { JobSignal } from './job-signal.js'
import type { JobMetrics } from './metrics.js'
import type { Shared } from './batches/shared-formatting.js'
import type { JobFilter } from './batches/shared-filters.js'
import type { JobRows } from './batches/shared-rows.js'
import type { SpoolPosition } from './spool/position.js'
import type { Cursor, ReadableSpool } from './spool/types.js'
import type { JobStatus } from './status.js'
import type { Tap } from './tap.js'
import type { Uploads } from './uploads.js'
import type { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'

/** Dependencies that all jobs share. */
export interface SessionDeps {
  /** Names the folder of the spools. */
  readonly spools: { readonly id: string }
  readonly batchBuffer: BatchBuffer
  readonly uploads: Uploads
  readonly loop: EventLoopYield
  readonly deadLetter: DeadLetter
  /** Lists the dead letters of each job. */
  readonly deadLetters?: Pick<DeadLetterIndex, 'put'> | undefined
  /** Starts modules of jobs. Undefined if no job can have one. */
  readonly openTransform?: OpenTransform | undefined
  /** Returns the gzip level for jobs without their own. */
  readonly compressionLevel?: () => CompressionLevel
  readonly clock: Clock
  readonly log: Log
  /** From 0 to 1. */
  readonly random: () => number
}

/** Properties of a job that stay the same while its settings do. */
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
  /** Remembers the attempts to deliver. */
  readonly attempts?: AttemptLog | undefined
  /** The lines before this place are in the metrics, in this process. */
  readonly counted: { place: SpoolPosition }
  /** Called after each failure. */
  readonly failed: () => Promise<void>
}
