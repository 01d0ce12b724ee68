import type { FileHandle } from 'node:fs/promises'
import { readAt } from '../../../disk/positioned-io.js'
import type { Piece } from '../delivery.js'
import type { BodySink } from '../types.js'
import { CHECKED_BYTES, isIntact } from './format.js'

/** The body of a response on disk, open for one reader. */
export interface OpenFile {
  readonly handle: FileHandle
  /** Where the body begins. */
  readonly offset: number
  readonly length: number
  readonly checksums: Buffer
  /** Called if a block is damaged. */
  readonly damaged: () => void
}

/** A block of a file does not have its checksum. */
class DamagedFile extends Error {
  override readonly name = 'DamagedFile'
}

/** Blocks of a body that are read together. */
export const READ_BLOCKS = 4

/** Reads blocks of a body, the last ones of it at most. `known`: their bytes, if they were read. Rejects if one is damaged. */
export async function readBlocks(
  { handle, offset, length, checksums, damaged }: OpenFile,
  first: number,
  known?: Buffer,
): Promise<Buffer> {
  const from = first * CHECKED_BYTES
  const to = Math.min(length, from + READ_BLOCKS * CHECKED_BYTES)
  const bytes = known?.length === to - from ? known : await readAt(handle, offset + from, offset + to)
  let isWhole = bytes.length === to - from
  for (let at = 0; isWhole && at < bytes.length; at += CHECKED_BYTES)
    isWhole = isIntact(bytes.subarray(at, at + CHECKED_BYTES), checksums, first + at / CHECKED_BYTES)
  if (isWhole) return bytes
  damaged()
  throw new DamagedFile('a file of the response cache is damaged')
}

/** Sends the body of a response, or pieces of it, from disk to one sink: some blocks of it are in memory at a time. */
export class FileDelivery {
  /** Bytes of the body that were passed on. */
  bytes = 0
  readonly #file: OpenFile
  readonly #sink: BodySink
  readonly #pieces: Piece[]
  readonly #done: () => void
  #drained: (() => void) | undefined
  #over = false

  /** The head must have been sent. Closes the file in the end. */
  constructor(
    file: OpenFile,
    sink: BodySink,
    { pieces, done }: { pieces: readonly Piece[] | undefined; done: () => void },
  ) {
    this.#file = file
    this.#sink = sink
    this.#pieces = [...(pieces ?? [{ from: 0, to: file.length }])]
    this.#done = done
  }

  start(): void {
    this.#sink.onDrain(() => {
      const drained = this.#drained
      this.#drained = undefined
      drained?.()
    })
    void this.#run()
  }

  /** Stops without notifying the sink. */
  cancel(): void {
    this.#over = true
    this.#drained?.()
  }

  async #run(): Promise<void> {
    let failure: { readonly error: unknown } | undefined
    try {
      for (const piece of this.#pieces) await this.#send(piece)
    } catch (error) {
      failure = { error }
    }
    await this.#file.handle.close().catch(() => undefined)
    const wasOver = this.#over
    this.#over = true
    this.#done()
    if (wasOver) return
    if (failure) this.#sink.fail(failure.error)
    else this.#end()
  }

  #end(): void {
    try {
      this.#sink.end()
    } catch (error) {
      this.#sink.fail(error)
    }
  }

  async #send(piece: Piece): Promise<void> {
    if (!('to' in piece)) {
      await this.#pass(piece)
      return
    }
    for (let at = piece.from; at < piece.to && !this.#over;) {
      const index = Math.floor(at / CHECKED_BYTES)
      const start = index * CHECKED_BYTES
      const block = await readBlocks(this.#file, index)
      const slice = block.subarray(at - start, Math.min(block.length, piece.to - start))
      at += slice.length
      this.bytes += slice.length
      await this.#pass(slice)
    }
  }

  /** Resolves when the sink accepts more. */
  async #pass(bytes: Buffer): Promise<void> {
    if (this.#over || this.#sink.data(bytes)) return
    // A client that reads slowly has no block waiting for it: the sink has taken the last one.
    if (!this.#over) await new Promise<void>((resolve) => (this.#drained = resolve))
  }
}
