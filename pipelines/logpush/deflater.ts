import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { constants, deflateRaw } from 'node:zlib'
import PQueue from 'p-queue'
import { Buffers } from './spool/buffers.js'

const deflated = promisify(deflateRaw)

const LEVEL = 6
/** The most that zlib takes: costs 256 KiB while a piece is compressed, and saves some of the time. */
const MEMORY_LEVEL = 9
const OUT_BYTES = 64 * 1024
/** Pieces have a record more than 256 KiB. */
const PIECE_BYTES = 320 * 1024

/**
 * Compresses texts in pieces that can stand one after the other in one deflate stream, so that jobs can share them. Costs
 * 1 % of size against a stream that looks back beyond a piece. zlib has threads of its own: the main one goes on.
 */
export class Deflater {
  // Not all threads of the pool: files wait for them too.
  readonly #queue = new PQueue({ concurrency: Math.min(2, availableParallelism()) })
  readonly #buffers = new Buffers(PIECE_BYTES, 4)

  /** Compresses a text, which can be changed as soon as this returns. `last`: ends the stream. */
  async deflate(text: Uint8Array, { last }: { last: boolean }): Promise<Uint8Array> {
    const memory = text.length <= PIECE_BYTES ? this.#buffers.take() : Buffer.allocUnsafeSlow(text.length)
    memory.set(text)
    const finishFlush = last ? constants.Z_FINISH : constants.Z_SYNC_FLUSH
    const options = { level: LEVEL, memLevel: MEMORY_LEVEL, chunkSize: OUT_BYTES, finishFlush }
    const piece = memory.subarray(0, text.length)
    try {
      const bytes = await this.#queue.add(async () => await deflated(piece, options))
      // What zlib gives lies in memory of OUT_BYTES.
      return new Uint8Array(bytes)
    } finally {
      this.#buffers.give(memory)
    }
  }
}
