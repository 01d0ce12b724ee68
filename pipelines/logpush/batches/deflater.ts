import { availableParallelism } from 'node:os'
import { constants, createGzip } from 'node:zlib'
import PQueue from 'p-queue'
import type { Buffers } from '../spool/buffers.js'

/** A part of a deflate stream without references to earlier parts. */
export interface CompressedChunk {
  readonly bytes: Uint8Array
  /** Of its text. */
  readonly crc: number
  readonly length: number
}

/**
 * End of a deflate stream, after the last piece. It is an empty block that is marked as the last one (RFC 1951, 3.2.3).
 */
export const DEFLATE_END = Uint8Array.of(3, 0)

// The maximum memory of zlib, which saves some time at each level.
const OPTIONS = { memLevel: 9, flush: constants.Z_SYNC_FLUSH }
/**
 * Size of the output buffer as a share of the text. It is more than most logs need. Each further piece of output costs
 * one more turn of the event loop.
 */
const OUTPUT_SHARE = 1 / 3
const MIN_OUTPUT_BYTES = 4096
/**
 * Bytes that gzip adds to a piece, which are a header before it and {@link DEFLATE_END}, checksum and length after it.
 */
const HEADER_BYTES = 10
const TRAILER_BYTES = 8
/** Maximum threads of the pool. Files need threads of the pool too. */
const CONCURRENCY = Math.min(2, availableParallelism())

/**
 * Compresses texts to pieces that can be concatenated in any order, so jobs can share them. The result has 1 % more
 * bytes than one stream. zlib uses its own threads, so the main thread is not blocked.
 */
export class Deflater {
  readonly #queue = new PQueue({ concurrency: CONCURRENCY })
  readonly #buffers: Buffers

  /** Copies compressed pieces into `buffers` if they fit. */
  constructor(buffers: Buffers) {
    this.#buffers = buffers
  }

  /** Compresses a text, which can be changed as soon as this returns, at a level from 1 to 9. */
  async deflate(text: Uint8Array, level: number): Promise<CompressedChunk> {
    const { length } = text
    const memory = length <= this.#buffers.size ? this.#buffers.take() : Buffer.allocUnsafeSlow(length)
    memory.set(text)
    const copy = memory.subarray(0, length)
    try {
      return await this.#queue.add(async () => await compressed(copy, level))
    } finally {
      this.#buffers.give(memory)
    }
  }
}

/**
 * Compresses a text as a gzip file whose data is flushed before it ends, so zlib calculates the checksum in its thread,
 * too. Each piece has its own deflate state, because a reused one can produce other bytes for the same text.
 */
async function compressed(text: Uint8Array, level: number): Promise<CompressedChunk> {
  return await new Promise((resolve, reject) => {
    const chunkSize = Math.max(MIN_OUTPUT_BYTES, Math.ceil(text.length * OUTPUT_SHARE))
    const gzip = createGzip({ ...OPTIONS, chunkSize, level })
    const parts: Buffer[] = []
    let length = 0
    // Events, because an iterator takes a third more time of the main thread.
    gzip.on('data', (part: Buffer) => {
      parts.push(part)
      length += part.length
    })
    gzip.on('error', reject)
    gzip.on('end', () => resolve(chunkOf(parts, length, text.length)))
    // The text is flushed, not finished, because the stream does not know yet that nothing follows.
    gzip.write(text, () => gzip.end())
  })
}

/** Returns the data between the header of a gzip file and its end. */
function chunkOf(parts: readonly Buffer[], fileLength: number, length: number): CompressedChunk {
  const [first, last] = parts
  const endLength = DEFLATE_END.length + TRAILER_BYTES
  // Usually the data is one part and the end is another, so nothing is copied.
  if (parts.length === 2 && last!.length === endLength)
    return { bytes: compact(first!.subarray(HEADER_BYTES)), crc: last!.readUInt32LE(DEFLATE_END.length), length }
  const file = Buffer.concat(parts, fileLength)
  const behind = fileLength - TRAILER_BYTES
  return { bytes: compact(file.subarray(HEADER_BYTES, fileLength - endLength)), crc: file.readUInt32LE(behind), length }
}

/**
 * Copies the output of zlib if it leaves most of its memory unused. A copy is one more allocation outside of the heap,
 * and each such allocation brings the next full garbage collection nearer. Other results stay in place.
 */
const compact = (bytes: Uint8Array): Uint8Array =>
  bytes.length * 2 < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes
