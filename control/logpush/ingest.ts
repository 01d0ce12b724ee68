import type { IncomingMessage } from 'node:http'
import { messageOf } from '../../src/core/errors.js'
import { SpoolFull, SpoolUnavailable, type Spool } from '../../pipelines/logpush/spool/types.js'
import { MalformedRecord, recordCheck, UnfitRecord, type Dataset } from '../../pipelines/records/index.js'
import { MalformedArray } from '../../pipelines/sources/lines/array-lines.js'
import { assertInvalid, IntakeLimit, SenderGone, withStored } from '../../src/core/schedule/intake-limits.js'
import { MAX_LINE_BYTES } from '../../pipelines/sources/lines/line-blocks.js'
import { NotGzip } from '../../pipelines/sources/lines/ndjson.js'
import { linesInto, type LineReading } from '../http/line-body.js'
import { ApiError } from '../http/errors.js'
import type { LineTaker } from '../http/line-splitter.js'

const COMMIT_BYTES = 256 * 1024
const MAX_REPORTED = 100

/** What became of the records of a request. */
export interface Ingested {
  readonly accepted: number
  /** Lines from 1; of an array, its elements from 1. */
  readonly rejected: readonly { readonly line: number; readonly message: string }[]
  /** Number of rejected records that are not listed. */
  readonly more_rejected?: number
}

/**
 * Appends the records of a request to a spool. Resolves when they are durable. Buffers one frame and the part of a line,
 * however large the body is. Throws `spoolFull`, `badRecords`, `tooLarge` and `wrongType`. Records that were durable
 * before the error stay durable, and the message names their last line.
 */
export async function ingest(
  request: IncomingMessage,
  spool: Spool,
  dataset: Dataset,
  reading: LineReading,
): Promise<Ingested> {
  const intake = new Intake(spool, dataset)
  try {
    for await (const ended of linesInto(request, intake, reading)) {
      intake.ended = ended
      if (intake.isLarge) await intake.commit()
    }
    await intake.commit()
    return intake.result
  } catch (error) {
    // The records in front of a limit are valid.
    if (error instanceof IntakeLimit) throw await limited(intake, error)
    throw ingestError(error, intake.stored)
  }
}

/** Takes the lines of one request. */
class Intake implements LineTaker {
  readonly #writer: ReturnType<Spool['writer']>
  readonly #isKept: boolean
  readonly #rejected: { line: number; message: string }[] = []
  #refused = 0
  #accepted = 0
  #safe = 0
  /** Lines that have ended. */
  ended = 0

  constructor(spool: Spool, dataset: Dataset) {
    this.#writer = spool.writer({ check: recordCheck(dataset) })
    this.#isKept = spool.cursors.length > 0
  }

  line(bytes: Uint8Array, start: number, end: number, number: number): void {
    try {
      this.#writer.add(bytes, start, end)
    } catch (error) {
      if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
      this.#reject(number, error.message)
    }
  }

  tooLong(number: number): void {
    this.#reject(number, `a record has at most ${MAX_LINE_BYTES} bytes`)
  }

  #reject(line: number, message: string): void {
    this.ended = line
    assertInvalid(++this.#refused)
    if (this.#rejected.length < MAX_REPORTED) this.#rejected.push({ line, message })
  }

  get isLarge(): boolean {
    return this.#writer.size >= COMMIT_BYTES
  }

  async commit(): Promise<void> {
    const { count } = this.#writer
    if (count > 0) await this.#writer.commit()
    this.#accepted += count
    this.#safe = this.ended
  }

  get result(): Ingested {
    const more = this.#refused - this.#rejected.length
    return { accepted: this.#accepted, rejected: this.#rejected, ...(more > 0 && { more_rejected: more }) }
  }

  /** Lines whose valid records are stored. */
  get stored(): number {
    return this.#isKept ? this.#safe : 0
  }
}

/** Stores the records in front of a limit. Returns the error of the request. */
async function limited(intake: Intake, { limit, message }: IntakeLimit): Promise<unknown> {
  try {
    await intake.commit()
  } catch (error) {
    return ingestError(error, intake.stored)
  }
  const { stored, result } = intake
  return new ApiError(limit === 'invalid' ? 'badRecords' : 'tooLarge', undefined, {
    message: withStored(message, stored),
    meta: { ...result },
  })
}

function ingestError(error: unknown, stored: number): unknown {
  if (error instanceof ApiError) return error
  if (error instanceof SpoolUnavailable)
    return new ApiError('spoolUnavailable', undefined, {
      message: withStored(`${error.message}; send the records again later`, stored),
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof SpoolFull)
    return new ApiError('spoolFull', undefined, {
      message: withStored('no room for records now, send them again later', stored),
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof MalformedArray) return new ApiError('badRecords', undefined, withStored(error.message, stored))
  if (error instanceof NotGzip) return new ApiError('badRecords', undefined, error.message)
  const { code } = error as NodeJS.ErrnoException
  if (code?.startsWith('Z_'))
    return new ApiError('badRecords', undefined, withStored(`the body is not gzip: ${messageOf(error)}`, stored))
  // The sender went away: nobody reads the response.
  if (error instanceof SenderGone || code === 'ECONNRESET') return new ApiError('badBody', undefined, { cause: error })
  return error
}
