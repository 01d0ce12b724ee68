import type { IncomingMessage } from 'node:http'
import { bytePieces } from '../../src/core/byte-pieces.js'
import { EventLoopYield, type Pause } from '../../src/core/event-loop-yield.js'
import { messageOf } from '../../src/core/errors.js'
import { SpoolFull, SpoolUnavailable, type Spool } from '../../pipelines/logpush/spool/types.js'
import { MalformedRecord, recordCheck, UnfitRecord, type Dataset } from '../../pipelines/records/index.js'
import { MalformedArray } from '../../pipelines/sources/array-lines.js'
import { MAX_LINE_BYTES } from '../../pipelines/sources/line-blocks.js'
import { NotGzip } from '../../pipelines/sources/ndjson.js'
import { bodyText } from '../http/line-body.js'
import { ApiError } from '../http/errors.js'
import { LineCutter } from '../http/line-splitter.js'

const slices = new EventLoopYield()
const yieldToOthers: Pause = () => slices.yieldToEventLoop()

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
 * Takes the records of a request into a spool; resolves once they are durable. Holds a frame and the part of a line,
 * however large the body is. Throws `spoolFull`, `badRecords` and `wrongType`; what was durable before stays so, and the
 * message says up to which line.
 */
export async function ingest(
  request: IncomingMessage,
  spool: Spool,
  dataset: Dataset,
  pause: Pause = yieldToOthers,
): Promise<Ingested> {
  const writer = spool.writer({ check: recordCheck(dataset) })
  const rejected: { line: number; message: string }[] = []
  let refused = 0
  let accepted = 0
  let safe = 0
  const reject = (line: number, message: string): void => {
    refused++
    if (rejected.length < MAX_REPORTED) rejected.push({ line, message })
  }
  try {
    const lines = new LineCutter(
      {
        line(bytes, start, end, number) {
          try {
            writer.add(bytes, start, end)
          } catch (error) {
            if (!(error instanceof MalformedRecord || error instanceof UnfitRecord)) throw error
            reject(number, error.message)
          }
        },
        tooLong: (number) => reject(number, `a record has at most ${MAX_LINE_BYTES} bytes`),
      },
      MAX_LINE_BYTES,
    )
    const commit = async (): Promise<void> => {
      const { count } = writer
      if (count > 0) await writer.commit()
      accepted += count
      safe = lines.ended
    }
    for await (const piece of bodyText(request)) {
      for (const part of bytePieces(piece)) {
        lines.push(part)
        if (writer.size >= COMMIT_BYTES) await commit()
        await pause()
      }
    }
    lines.finish()
    await commit()
  } catch (error) {
    throw ingestError(error, safe)
  }
  const more = refused - rejected.length
  return { accepted, rejected, ...(more > 0 && { more_rejected: more }) }
}

function ingestError(error: unknown, safe: number): unknown {
  if (error instanceof ApiError) return error
  const upTo = safe === 0 ? '' : `; records up to line ${safe} were stored`
  if (error instanceof SpoolUnavailable)
    return new ApiError('spoolUnavailable', undefined, {
      message: `${error.message}; send the records again later${upTo}`,
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof SpoolFull)
    return new ApiError('spoolFull', undefined, {
      message: `no room for records now, send them again later${upTo}`,
      headers: { 'retry-after': '5' },
      cause: error,
    })
  if (error instanceof MalformedArray) return new ApiError('badRecords', undefined, `${error.message}${upTo}`)
  if (error instanceof NotGzip) return new ApiError('badRecords', undefined, error.message)
  const { code } = error as NodeJS.ErrnoException
  if (code?.startsWith('Z_'))
    return new ApiError('badRecords', undefined, `the body is not gzip: ${messageOf(error)}${upTo}`)
  // The sender went away: nobody reads the response.
  if (code === 'ECONNRESET') return new ApiError('badBody', undefined, { cause: error })
  return error
}
