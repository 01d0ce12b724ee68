import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { arrayLines } from './array-lines.js'
import { MOST_LINE_BYTES } from './line-blocks.js'

/**
 * NDJSON of an input that is NDJSON or one JSON array, gzip or not, told by what it begins with. Rejects with
 * MalformedArray, and as zlib does for a gzip stream that is damaged or ends midway.
 */
export async function* ndjson(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { first, all } = await peek(input, isGzip)
  if (!first) return yield* textLines(all)
  const gunzip = createGunzip({ chunkSize: 1 << 18 })
  // Whoever reads gets the error of either stream.
  pipeline(Readable.from(all), gunzip, () => {})
  yield* textLines(gunzip)
}

async function* textLines(input: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { first, all } = await peek(input, isArray)
  yield* first ? arrayLines(all, MOST_LINE_BYTES) : all
}

/** Whether bytes begin a gzip stream; undefined where there are too few to tell. */
export function isGzip(bytes: Uint8Array): boolean | undefined {
  if (bytes.length < 2) return bytes.length === 1 && bytes[0] !== 0x1f ? false : undefined
  return bytes[0] === 0x1f && bytes[1] === 0x8b
}

/** Whether JSON text begins an array; undefined where there is only white space. */
export function isArray(bytes: Uint8Array): boolean | undefined {
  const first = bytes.find((byte) => byte > 0x20)
  return first === undefined ? undefined : first === 0x5b
}

/** White space in front of everything is not looked through for ever. */
const MOST_PEEKED = 1 << 16

/** Asks about the beginning of an input, which is then given as a whole. */
async function peek(input: AsyncIterable<Uint8Array>, ask: (bytes: Uint8Array) => boolean | undefined) {
  const iterator = input[Symbol.asyncIterator]()
  let head: Uint8Array = new Uint8Array(0)
  let answer: boolean | undefined
  while (answer === undefined && head.length < MOST_PEEKED) {
    const { done, value } = await iterator.next()
    if (done) break
    head = head.length === 0 ? value : Buffer.concat([head, value])
    answer = ask(head)
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (head.length > 0) yield head
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield next.value
    } finally {
      await iterator.return?.()
    }
  }
  return { first: answer ?? false, all: all() }
}
