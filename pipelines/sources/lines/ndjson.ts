import { arrayLines } from './array-lines.js'
import type { Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { gunzipped } from './gzip-recovery.js'
import { metered } from '../../../src/core/schedule/intake-limits.js'
import { MAX_LINE_BYTES } from './line-blocks.js'

/** The input was said to be gzip, and is not. */
export class NotGzip extends Error {
  override readonly name = 'NotGzip'

  constructor() {
    super('the body is not gzip')
  }
}

/** How an input is read. */
export interface NdjsonOptions {
  /** The input must be gzip. */
  readonly gzip?: boolean
  /** The input has lines that are not JSON, so a bracket does not begin an array. */
  readonly isText?: boolean
  /** Maximum bytes of the input and of its text. Default is no limit. */
  readonly maxBytes?: number
  /** Called between steps of long work. */
  readonly pause?: Pause
}

/**
 * Yields the lines of an input that is NDJSON or one JSON array, gzip or not, detected from its first bytes. A byte
 * order mark is dropped. Rejects with MalformedArray, with {@link NotGzip} if `gzip` is set and the input is not gzip,
 * with IntakeLimit if the input is too large, and with the error of zlib for a gzip stream that is damaged or ends
 * midway.
 */
export async function* ndjson(
  input: AsyncIterable<Uint8Array>,
  { gzip = false, isText = false, maxBytes = Infinity, pause }: NdjsonOptions = {},
): AsyncGenerator<Uint8Array> {
  const { head, from } = await peek(metered(input, maxBytes), isGzip)
  if (isGzip(head)) return yield* textLines(metered(gunzipped(from(0)), maxBytes), isText, pause)
  if (gzip && head.length > 0) throw new NotGzip()
  yield* textLines(from(0), isText, pause)
}

async function* textLines(
  input: AsyncIterable<Uint8Array>,
  isText: boolean,
  pause?: Pause,
): AsyncGenerator<Uint8Array> {
  const { head, from } = await peek(input, isArray)
  const text = from(markLength(head))
  yield* !isText && isArray(head) ? arrayLines(text, MAX_LINE_BYTES, pause) : text
}

/** Returns whether bytes begin a gzip stream. Undefined if there are too few. */
export function isGzip(bytes: Uint8Array): boolean | undefined {
  if (bytes.length < 2) return bytes.length === 1 && bytes[0] !== 0x1f ? false : undefined
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}

/** Returns whether JSON text begins an array. Undefined if there is only white space, as in its first `blank` bytes. */
export function isArray(bytes: Uint8Array, blank = 0): boolean | undefined {
  const first = bytes.subarray(Math.max(blank, markLength(bytes))).find((byte) => byte > 0x20)
  // Of a mark there may be only the beginning.
  if (first === undefined || (bytes.length < MARK.length && first === MARK[0])) return undefined
  return first === 0x5b
}

/** Bytes of the byte order mark that text begins with; 0 if it has none. */
export const markLength = (bytes: Uint8Array): number =>
  MARK.every((byte, at) => bytes[at] === byte) ? MARK.length : 0

const MARK = [0xef, 0xbb, 0xbf]

/** Maximum white space that is read before the first character. */
const MAX_PEEKED = 1 << 14

/**
 * Reads enough bytes at the beginning of an input to answer a question. `from` returns the whole input from one of
 * these bytes on.
 */
async function peek(input: AsyncIterable<Uint8Array>, ask: (bytes: Uint8Array, blank: number) => boolean | undefined) {
  const iterator = input[Symbol.asyncIterator]()
  let head: Uint8Array = new Uint8Array(0)
  // A sender can make each chunk one byte long, so the memory grows by doubling and no byte is examined twice.
  let memory = head
  let blank = 0
  while (ask(head, blank) === undefined && head.length < MAX_PEEKED) {
    blank = head.length < MARK.length ? 0 : head.length
    const { done, value } = await iterator.next()
    if (done) break
    const length = head.length + value.length
    if (length > memory.length) {
      memory = new Uint8Array(head.length === 0 ? length : 2 * length)
      memory.set(head)
    }
    memory.set(value, head.length)
    head = memory.subarray(0, length)
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
