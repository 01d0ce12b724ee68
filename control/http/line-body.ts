import type { IncomingMessage } from 'node:http'
import { MalformedArray } from '../../pipelines/sources/array-lines.js'
import { MAX_LINE_BYTES } from '../../pipelines/sources/line-blocks.js'
import { ndjson, NotGzip } from '../../pipelines/sources/ndjson.js'
import { bytePieces } from '../../src/core/byte-pieces.js'
import { EventLoopYield, type Pause } from '../../src/core/event-loop-yield.js'
import { ApiError } from './errors.js'
import { LineCutter } from './line-splitter.js'

const CODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip'])

/**
 * Returns an NDJSON or JSON array body as chunks of NDJSON. Decompresses gzip, detected by Content-Encoding or by the
 * first bytes. Throws `wrongType`; reading rejects as {@link ndjson} does.
 */
export function bodyText(request: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!CODINGS.has(coding)) throw new ApiError('wrongType', undefined, 'the content encoding must be gzip or identity')
  // A response is required even if reading ends early: the connection stays open.
  return ndjson(request.iterator({ destroyOnReturn: false }), { gzip: coding.endsWith('gzip') })
}

const slices = new EventLoopYield()
/** A body that has arrived is read without waiting for anything else, however large it is. */
const pause: Pause = () => slices.yieldToEventLoop()

/** One line of a body. */
export interface BodyLine {
  /** Counted from 1; in a JSON array, the number of the element. */
  readonly line: number
  /** Undefined if it is longer than the maximum. */
  readonly bytes: Buffer | undefined
}

export interface BodyLimits {
  /** Maximum size of the whole body after decompression. */
  readonly bodyBytes: number
}

/**
 * Reads the lines of such a body sequentially with bounded memory. Skips lines of white space only. Throws
 * `wrongType`, `badBody`, `badJson` and `tooLarge`.
 */
export async function* bodyLines(request: IncomingMessage, { bodyBytes }: BodyLimits): AsyncGenerator<BodyLine> {
  const found: BodyLine[] = []
  const cutter = new LineCutter(
    {
      line: (bytes, start, end, line) => found.push({ line, bytes: Buffer.from(bytes.subarray(start, end)) }),
      tooLong: (line) => found.push({ line, bytes: undefined }),
    },
    MAX_LINE_BYTES,
  )
  let size = 0
  try {
    for await (const piece of bodyText(request)) {
      size += piece.length
      if (size > bodyBytes) throw new ApiError('tooLarge', undefined, `the body is larger than ${bodyBytes} bytes`)
      for (const part of bytePieces(piece)) {
        cutter.push(part)
        await pause()
        for (const line of found.splice(0)) {
          yield line
          await pause()
        }
      }
    }
    cutter.finish()
    yield* found
  } catch (error) {
    if (error instanceof MalformedArray) throw new ApiError('badJson', undefined, error.message)
    if (error instanceof NotGzip || isStreamFault(error)) throw new ApiError('badBody', undefined, { cause: error })
    throw error
  }
}

/** Returns whether the sender disconnected or the gzip is broken. */
const isStreamFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)/.test(String(error.code))
