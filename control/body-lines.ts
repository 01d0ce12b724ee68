import type { IncomingMessage } from 'node:http'
import { MalformedArray } from '../pipelines/sources/array-lines.js'
import { MOST_LINE_BYTES } from '../pipelines/sources/line-blocks.js'
import { ndjson } from '../pipelines/sources/ndjson.js'
import { ApiError } from './errors.js'

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

const LINE_FEED = 0x0a

/**
 * The lines of a body that is NDJSON or one JSON array, gzip or not, one after another with bounded memory; those of white
 * space alone are left out. Throws `badBody`, `badJson` and `tooLarge`.
 */
export async function* bodyLines(request: IncomingMessage, { bodyBytes }: BodyLimits): AsyncGenerator<BodyLine> {
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (!CODINGS.has(coding))
    throw new ApiError('badBody', undefined, 'the content encoding is not one that this endpoint takes: gzip')
  try {
    yield* lines(counted(ndjson(request), bodyBytes))
  } catch (error) {
    if (error instanceof MalformedArray) throw new ApiError('badJson', undefined, error.message)
    if (isStreamFault(error)) throw new ApiError('badBody', undefined, { cause: error })
    throw error
  }
}

const CODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip'])

async function* counted(input: AsyncIterable<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    if (bytes > most) throw new ApiError('tooLarge', undefined, `the body is larger than ${most} bytes`)
    yield chunk
  }
}

async function* lines(input: AsyncIterable<Uint8Array>): AsyncGenerator<BodyLine> {
  let kept: Uint8Array[] = []
  let length = 0
  let line = 0
  const take = (piece: Uint8Array): void => {
    length += piece.length
    if (length <= MOST_LINE_BYTES) kept.push(piece)
    else kept = []
  }
  const ended = (): BodyLine | undefined => {
    line += 1
    const bytes = length <= MOST_LINE_BYTES ? Buffer.concat(kept) : undefined
    kept = []
    length = 0
    return bytes?.every(isSpace) === true ? undefined : { line, bytes }
  }
  for await (const chunk of input) {
    let from = 0
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      take(chunk.subarray(from, at))
      from = at + 1
      const found = ended()
      if (found) yield found
    }
    take(chunk.subarray(from))
  }
  const last = length > 0 ? ended() : undefined
  if (last) yield last
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0d || byte === 0x09

/** What a body ends with when its sender goes away or its gzip is broken. */
const isStreamFault = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^(Z_|ECONNRESET|ERR_STREAM_PREMATURE_CLOSE)/.test(String(error.code))
