import type { IncomingMessage } from 'node:http'
import { MalformedArray } from '../../pipelines/sources/array-lines.js'
import { MAX_LINE_BYTES } from '../../pipelines/sources/line-blocks.js'
import { ndjson, NotGzip } from '../../pipelines/sources/ndjson.js'
import { ApiError } from './errors.js'
import { LineCutter } from './line-splitter.js'

const CODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip'])

/**
 * A body that is NDJSON or one JSON array, gzip or not, as NDJSON in pieces; gzip where Content-Encoding says so, or by what
 * it begins with. Throws `wrongType`; reading rejects as {@link ndjson} does.
 */
export function bodyText(request: IncomingMessage): AsyncIterable<Uint8Array> {
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!CODINGS.has(coding)) throw new ApiError('wrongType', undefined, 'the content encoding must be gzip or identity')
  // An answer is due even where reading ends early: the connection stays.
  return ndjson(request.iterator({ destroyOnReturn: false }), { gzip: coding.endsWith('gzip') })
}

/** One line of a body. */
export interface BodyLine {
  /** From 1; of a JSON array, the number of the element. */
  readonly line: number
  /** Undefined where it is longer than a line may be. */
  readonly bytes: Buffer | undefined
}

export interface BodyLimits {
  /** Of the whole body, once its compression is undone. */
  readonly bodyBytes: number
}

/**
 * The lines of such a body, one after another with bounded memory; those of white space alone are left out. Throws
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
      cutter.push(piece)
      yield* found.splice(0)
    }
    cutter.finish()
    yield* found
  } catch (error) {
    if (error instanceof MalformedArray) throw new ApiError('badJson', undefined, error.message)
    if (error instanceof NotGzip || isStreamFault(error)) throw new ApiError('badBody', undefined, { cause: error })
    throw error
  }
}

/** What a body ends with when its sender goes away or its gzip is broken. */
const isStreamFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)/.test(String(error.code))
