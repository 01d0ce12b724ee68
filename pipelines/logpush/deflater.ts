import { availableParallelism } from 'node:os'
import { constants, createGzip } from 'node:zlib'
import PQueue from 'p-queue'
import type { Buffers } from './spool/buffers.js'

/** A part of a deflate stream that looks back at nothing before it. */
export interface CompressedChunk {
  readonly bytes: Uint8Array
  /** Of its text. */
  readonly crc: number
  readonly length: number
}

/** What ends a deflate stream behind its last piece: an empty block that says it is the last. RFC 1951, 3.2.3. */
export const DEFLATE_END = Uint8Array.of(3, 0)

// The most memory that zlib takes: saves some of the time at each level.
const OPTIONS = { memLevel: 9, flush: constants.Z_SYNC_FLUSH }
/** Output has room for this share of the text, which is more than most logs need: each further piece of it is one more turn. */
const OUTPUT_SHARE = 1 / 3
const MIN_OUTPUT_BYTES = 4096
/** What gzip writes around a piece: its header, and behind it {@link DEFLATE_END}, the checksum and the length. */
const HEADER_BYTES = 10
const TRAILER_BYTES = 8
/** Not all threads of the pool: files wait for them too. */
const CONCURRENCY = Math.min(2, availableParallelism())

/**
 * Compresses texts to pieces that can stand one after the other in any stream, so that jobs can share them: 1 % more bytes
 * than a stream that looks back further. zlib has threads of its own, so the main one goes on.
 */
export class Deflater {
  readonly #queue = new PQueue({ concurrency: CONCURRENCY })
  readonly #buffers: Buffers

  /** Copies what it compresses into `buffers`, if it is not larger. */
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
 * Compresses a text as a gzip file whose data is flushed before it ends. zlib then calculates the checksum in its thread, too.
 * A deflate state of its own for each piece: one that is used again can give other bytes for the same text.
 */
async function compressed(text: Uint8Array, level: number): Promise<CompressedChunk> {
  return await new Promise((resolve, reject) => {
    const chunkSize = Math.max(MIN_OUTPUT_BYTES, Math.ceil(text.length * OUTPUT_SHARE))
    const gzip = createGzip({ ...OPTIONS, chunkSize, level })
    const parts: Buffer[] = []
    let length = 0
    // Events: an iterator takes a third more time of the main thread.
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

/** Returns what is between the header of a gzip file and its end. */
function chunkOf(parts: readonly Buffer[], fileLength: number, length: number): CompressedChunk {
  const [first, last] = parts
  const endLength = DEFLATE_END.length + TRAILER_BYTES
  // Most often the data is one part and the end is another: nothing is copied.
  if (parts.length === 2 && last!.length === endLength)
    return { bytes: compact(first!.subarray(HEADER_BYTES)), crc: last!.readUInt32LE(DEFLATE_END.length), length }
  const file = Buffer.concat(parts, fileLength)
  const behind = fileLength - TRAILER_BYTES
  return { bytes: compact(file.subarray(HEADER_BYTES, fileLength - endLength)), crc: file.readUInt32LE(behind), length }
}

/**
 * The output of zlib lies in memory that is larger. A copy of it is one more allocation outside of the heap, and each brings
 * the next full garbage collection nearer: only results that leave most of that memory empty are copied.
 */
const compact = (bytes: Uint8Array): Uint8Array =>
  bytes.length * 2 < bytes.buffer.byteLength ? new Uint8Array(bytes) : bytes
