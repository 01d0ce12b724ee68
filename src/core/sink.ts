/** The formatted text of a batch, in memory or in a file, readable again for each attempt. */
export interface BatchBody {
  /** Number of bytes from `read`. */
  readonly length: number
  /** The encoding of `read`, as requested by the sink. */
  readonly encoding: Encoding
  /** Reads from the beginning, in chunks of at most a few hundred KiB. */
  read(): AsyncIterable<Uint8Array>
  /** Reads the whole body. For sinks with a limit on the size of a batch, and for small batches. */
  bytes(): Promise<Uint8Array>
}

/** `parquet` is a Parquet file of the records instead of their text. */
export type Encoding = 'gzip' | 'identity' | 'parquet'

/** The input of a sink. Contains the records that were accepted between two moments, as one text. */
export interface Batch {
  /** `20261121T101500Z_20261121T101530Z_5f0c2e9a`, the same if this batch is built again. Has no extension. */
  readonly name: string
  readonly records: number
  /** Times at which its first and its last record were accepted. */
  readonly from: Date
  readonly to: Date
  /** Bytes before any compression. */
  readonly size: number
  readonly body: BatchBody
}

/** Maximum size of a batch for a destination, except for a single record that is larger. */
export interface SinkLimits {
  /** Bytes before any compression. */
  readonly bytes?: number
  readonly records?: number
}

/** Maximum concurrent batches of one job. */
export const MAX_IN_FLIGHT = 64

/** From 1 to 9, or `auto` for the level in {@link COMPRESSION_LEVELS}. */
export type CompressionLevel = number | 'auto'

/**
 * Levels of gzip by output type if nothing sets one. Measured: CSV takes 15 to 27 % less time at level 2 than at 3, for 1 to
 * 5 % more bytes; NDJSON only 8 % less, for 5 % more.
 */
export const COMPRESSION_LEVELS = { csv: 2, ndjson: 3 } as const

/** A response of a destination that speaks HTTP. */
export interface SinkResponse {
  readonly status: number
  /** Beginning of the body as text. It may contain secrets that were sent. */
  readonly body: string
}

/** One opened destination of one job. */
export interface Sink {
  /** The required encoding of bodies. */
  readonly encoding: Encoding
  readonly limits: SinkLimits
  /** True if the path has a `{DATE}`. A batch must then not span midnight, UTC. */
  readonly daily: boolean
  /** True if batches must arrive in order, one at a time. */
  readonly ordered?: boolean
  /** Delivers a batch. A retry overwrites by name if the destination has names. Rejects with a {@link SinkError}. */
  write(batch: Batch, signal: AbortSignal): Promise<void>
  /**
   * Writes a harmless test object. Resolves with the response if the destination speaks HTTP. Rejects with a
   * {@link SinkError} if the destination does not accept the object.
   */
  check(signal: AbortSignal): Promise<SinkResponse | void>
  /**
   * Writes a small file below the destination's path and resolves with its path, for the ownership challenge. Only if
   * the destination has files.
   */
  put?(name: string, text: string, signal: AbortSignal): Promise<string>
  /** Returns the path of the file that `write` creates for a batch. Only if the destination is a local folder. */
  pathOf?(name: string, from: Date): string
  close(): Promise<void>
}

/**
 * The cause of a failed delivery, which determines the next step.
 *
 * - `transient` (network, 408, 425, 429, 5xx) is retried soon, with growing delays.
 * - `refused` (400, 401, 403, 404 and the like) is retried slowly, because someone has to fix the cause.
 * - `too_large` (413) is retried in two halves.
 */
export type SinkFailure = 'transient' | 'refused' | 'too_large'

/** A delivery failed. The message is shown to the owner of the job and must not contain a secret. */
export class SinkError extends Error {
  override readonly name = 'SinkError'
  readonly failure: SinkFailure
  /** The delay requested by the destination, as by Retry-After. */
  readonly retryAfterMs: number | undefined
  /** The response, if there was one. It is not part of the message. */
  readonly response: SinkResponse | undefined

  constructor(
    failure: SinkFailure,
    message: string,
    { retryAfterMs, response, cause }: { retryAfterMs?: number; response?: SinkResponse; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.failure = failure
    this.retryAfterMs = retryAfterMs
    this.response = response
  }
}

/**
 * The destination accepted a batch except for some records, which it permanently rejects because of their content.
 * Retries cannot help, so they become dead letters. If it accepted none at all, its settings might be the cause.
 */
export class RecordsRefused extends SinkError {
  /** The rejected lines, in order, without line ends. */
  readonly lines: readonly string[]
  /** Number of accepted records of the batch. */
  readonly taken: number

  constructor(message: string, { lines, taken }: { lines: readonly string[]; taken: number }) {
    super('refused', message)
    this.lines = lines
    this.taken = taken
  }
}
