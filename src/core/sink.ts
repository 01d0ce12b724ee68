/** The formatted text of a batch: lives in memory or in a file, and can be read again for each attempt. */
export interface BatchBody {
  /** Bytes as `read` gives them. */
  readonly length: number
  /** The encoding that `read` gives: what the sink asked for. */
  readonly encoding: Encoding
  /** From the beginning, in pieces of at most a few hundred KiB. */
  read(): AsyncIterable<Uint8Array>
  /** The whole of it; for sinks with a limit on the size of a batch, and for small batches. */
  bytes(): Promise<Uint8Array>
}

export type Encoding = 'gzip' | 'identity'

/** What a sink gets: records that were accepted between two moments, as one text. */
export interface Batch {
  /** `20261121T101500Z_20261121T101530Z_5f0c2e9a`, the same whenever this batch is made again; no extension. */
  readonly name: string
  readonly records: number
  /** When its first and its last record were accepted. */
  readonly from: Date
  readonly to: Date
  /** Bytes before any compression. */
  readonly size: number
  readonly body: BatchBody
}

/** What a destination takes at once; a batch stays within it, but for a single record that is larger. */
export interface SinkLimits {
  /** Bytes before any compression. */
  readonly bytes?: number
  readonly records?: number
}

/** One opened destination of one job. */
export interface Sink {
  /** The encoding in which it wants bodies. */
  readonly encoding: Encoding
  readonly limits: SinkLimits
  /** The path has a `{DATE}`: a batch must not go beyond midnight, UTC. */
  readonly daily: boolean
  /** Delivers a batch. Again with the same batch after a failure: the same name overwrites where the destination has names. Rejects with a {@link SinkError}. */
  write(batch: Batch, signal: AbortSignal): Promise<void>
  /** Writes something harmless to see whether the destination takes it. Rejects with a {@link SinkError}. */
  check(signal: AbortSignal): Promise<void>
  /**
   * Writes a small file below the destination's path and resolves with its path, for the ownership challenge. Only where
   * the destination has files.
   */
  put?(name: string, text: string, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

/**
 * Why a delivery failed, which says what comes next.
 *
 * - `transient`: network, 408, 425, 429, 5xx: again soon, with growing pauses
 * - `refused`: 400, 401, 403, 404 and the like: someone has to mend something; again, slowly
 * - `too_large`: 413: again in two halves
 */
export type SinkFailure = 'transient' | 'refused' | 'too_large'

/** A delivery failed. The message is shown to the owner of the job: it never has a secret in it. */
export class SinkError extends Error {
  override readonly name = 'SinkError'
  readonly failure: SinkFailure
  /** What the destination asked to wait, as by Retry-After. */
  readonly retryAfterMs: number | undefined

  constructor(
    failure: SinkFailure,
    message: string,
    { retryAfterMs, cause }: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.failure = failure
    this.retryAfterMs = retryAfterMs
  }
}

/**
 * The destination has a batch, but for some records that it refuses for good because of what is in them. Nobody can mend
 * them by trying again: they are set aside. Where it took none at all, the fault may as well be its settings.
 */
export class RecordsRefused extends SinkError {
  /** Their lines, in order, without line ends. */
  readonly lines: readonly string[]
  /** How many others of the batch it has. */
  readonly taken: number

  constructor(message: string, { lines, taken }: { lines: readonly string[]; taken: number }) {
    super('refused', message)
    this.lines = lines
    this.taken = taken
  }
}
