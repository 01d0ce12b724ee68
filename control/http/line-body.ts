import type { IncomingMessage } from 'node:http'
import { MalformedArray } from '../../pipelines/sources/lines/array-lines.js'
import {
  assertLines,
  MAX_BODY_BYTES,
  MAX_LINES,
  SenderGone,
  STEP_LINES,
  whileConnected,
} from '../../src/core/schedule/intake-limits.js'
import { MAX_LINE_BYTES } from '../../pipelines/sources/lines/line-blocks.js'
import { ndjson, NotGzip } from '../../pipelines/sources/lines/ndjson.js'
import type { Pause } from '../../src/core/schedule/event-loop-yield.js'
import { ApiError } from './errors.js'
import { LineCutter, type LineTaker } from './line-splitter.js'

const CODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip'])

/** How a body is read. */
export interface LineReading {
  /** Called after each few lines. */
  readonly pause: Pause
  /** Maximum size of the body after decompression, and number of its lines. */
  readonly maxBytes?: number
  readonly maxLines?: number
}

/**
 * Passes the lines of an NDJSON or JSON array body to `taker`, each valid until its call returns. Decompresses gzip,
 * detected by Content-Encoding or by the first bytes. Yields the number of lines that have ended after each few lines.
 * Throws `wrongType`; rejects as {@link ndjson} does, with IntakeLimit and with SenderGone.
 */
export async function* linesInto(
  request: IncomingMessage,
  taker: LineTaker,
  { pause, maxBytes = MAX_BODY_BYTES, maxLines = MAX_LINES }: LineReading,
): AsyncGenerator<number> {
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!CODINGS.has(coding)) throw new ApiError('wrongType', undefined, 'the content encoding must be gzip or identity')
  const cutter = new LineCutter(taker, MAX_LINE_BYTES)
  const between = whileConnected(request, pause)
  // A response is required even if reading ends early: the connection stays open.
  const body = request.iterator({ destroyOnReturn: false })
  for await (const piece of ndjson(body, { gzip: coding.endsWith('gzip'), maxBytes, pause: between })) {
    for (let at = 0; at < piece.length;) {
      assertLines(cutter.ended, maxLines)
      at = cutter.push(piece, at, Math.min(STEP_LINES, maxLines - cutter.ended))
      yield cutter.ended
      await between()
    }
  }
  cutter.finish()
  yield cutter.ended
}

/** One line of a body. */
export interface BodyLine {
  /** Counted from 1; in a JSON array, the number of the element. */
  readonly line: number
  /** Undefined if it is longer than the maximum. */
  readonly bytes: Buffer | undefined
}

/**
 * Reads the lines of such a body sequentially with bounded memory. Skips lines of white space only. Throws
 * `wrongType`, `badBody`, `badJson` and IntakeLimit.
 */
export async function* bodyLines(request: IncomingMessage, reading: LineReading): AsyncGenerator<BodyLine> {
  const found: BodyLine[] = []
  const taker: LineTaker = {
    line: (bytes, start, end, line) => found.push({ line, bytes: Buffer.from(bytes.subarray(start, end)) }),
    tooLong: (line) => found.push({ line, bytes: undefined }),
  }
  try {
    for await (const _ended of linesInto(request, taker, reading)) {
      for (const line of found.splice(0)) {
        yield line
        await reading.pause()
      }
    }
  } catch (error) {
    if (error instanceof MalformedArray) throw new ApiError('badJson', undefined, error.message)
    if (error instanceof NotGzip || error instanceof SenderGone || isStreamFault(error))
      throw new ApiError('badBody', undefined, { cause: error })
    throw error
  }
}

/** Returns whether the sender disconnected or the gzip is broken. */
const isStreamFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)/.test(String(error.code))
