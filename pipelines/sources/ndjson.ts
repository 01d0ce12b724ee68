import { arrayLines } from './array-lines.js'
import { gunzipped } from './gunzipped.js'
import { MAX_LINE_BYTES } from './line-blocks.js'

/** The input was said to be gzip, and is not. */
export class NotGzip extends Error {
  override readonly name = 'NotGzip'

  constructor() {
    super('the body is not gzip')
  }
}

/**
 * NDJSON of an input that is NDJSON or one JSON array, gzip or not, detected from its first bytes; a byte order mark is left
 * out. Rejects with MalformedArray, with {@link NotGzip} where `gzip` says that it must be, and as zlib does for a gzip
 * stream that is damaged or ends midway.
 */
export async function* ndjson(input: AsyncIterable<Uint8Array>, { gzip = false } = {}): AsyncGenerator<Uint8Array> {
  const { head, from } = await peek(input, isGzip)
  if (isGzip(head)) return yield* textLines(gunzipped(from(0)))
  if (gzip && head.length > 0) throw new NotGzip()
  yield* textLines(from(0))
}

async function* textLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { head, from } = await peek(input, isArray)
  const text = from(markLength(head))
  yield* isArray(head) ? arrayLines(text, MAX_LINE_BYTES) : text
}

/** Whether bytes begin a gzip stream; undefined if there are too few to tell. */
export function isGzip(bytes: Uint8Array): boolean | undefined {
  if (bytes.length < 2) return bytes.length === 1 && bytes[0] !== 0x1f ? false : undefined
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}

/** Whether JSON text begins an array; undefined if there is only white space. */
export function isArray(bytes: Uint8Array): boolean | undefined {
  const first = bytes.subarray(markLength(bytes)).find((byte) => byte > 0x20)
  // Of a mark there may be only the beginning.
  if (first === undefined || (bytes.length < MARK.length && first === MARK[0])) return undefined
  return first === 0x5b
}

/** Bytes of the byte order mark that text begins with; 0 if it has none. */
export const markLength = (bytes: Uint8Array): number =>
  MARK.every((byte, at) => bytes[at] === byte) ? MARK.length : 0

const MARK = [0xef, 0xbb, 0xbf]

/** White space in front of everything is not looked through for ever. */
const MAX_PEEKED = 1 << 14

/** The beginning of an input, as much as answers a question; `from` gives all of it from a byte of that beginning on. */
async function peek(input: AsyncIterable<Uint8Array>, ask: (bytes: Uint8Array) => boolean | undefined) {
  const iterator = input[Symbol.asyncIterator]()
  let head: Uint8Array = new Uint8Array(0)
  while (ask(head) === undefined && head.length < MAX_PEEKED) {
    const { done, value } = await iterator.next()
    if (done) break
    head = head.length === 0 ? value : Buffer.concat([head, value])
  }
  async function* from(byte: number): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > byte) yield head.subarray(byte)
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { head, from }
}
