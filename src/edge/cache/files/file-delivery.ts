import { LARGE_READ_BYTES } from '../../../core/schedule/turn-queue.js'
import type { ResponseSink } from '../../exchange/response.js'
import type { Piece } from '../delivery/delivery.js'
import { CHECKED_BYTES } from './format.js'
import type { OpenFile } from './open-files.js'

/** Blocks of a body that are read together, if the reader waits for the disk. */
const READ_BLOCKS = 4
/** Blocks that are read in one turn of the event loop without waiting. */
const MAX_NOW = 16

// Sinks that copy the bytes they retain get blocks in the same memory, which stays in the processor's cache.
let shared: Buffer | undefined
const sharedBlock = (): Buffer => (shared ??= Buffer.allocUnsafeSlow(CHECKED_BYTES))
const ownBlock = (): Buffer => Buffer.allocUnsafeSlow(CHECKED_BYTES)

/** Returns a short body, if it can be read without waiting for the disk. The sink gets it before the next read. */
export const shortBody = (file: OpenFile, { copies }: ResponseSink): Buffer | undefined =>
  file.length < LARGE_READ_BYTES ? file.readNow(0, copies === true ? sharedBlock : ownBlock) : undefined

/** Sends the body of a response, or pieces of the body, from disk to one sink. Only some blocks are in memory at a time. */
export class FileDelivery {
  /** Bytes of the body that were passed on. */
  bytes = 0
  readonly #file: OpenFile
  readonly #sink: ResponseSink
  readonly #done: () => void
  readonly #pieces: readonly Piece[]
  #next = 0
  #at = 0
  #to: number
  /** Bytes that were read, and their position in the body. */
  #chunk: Buffer | undefined
  #chunkAt = 0
  /** Memory for the next read, if the sink copies the bytes it retains. */
  #memory: Buffer<ArrayBuffer> | undefined
  #isReading = false
  #isBlocked = false
  #isPumping = false
  #isOver = false

  /** The head must have been sent. Releases the file in the end. */
  constructor(
    file: OpenFile,
    sink: ResponseSink,
    { pieces, done }: { pieces: readonly Piece[] | undefined; done: () => void },
  ) {
    this.#file = file
    this.#sink = sink
    this.#pieces = pieces ?? []
    this.#to = pieces ? 0 : file.length
    this.#done = done
  }

  start(): void {
    this.#sink.onDrain(() => {
      this.#isBlocked = false
      this.#pump()
    })
    this.#pump()
  }

  /** Stops without notifying the sink. */
  cancel(): void {
    if (!this.#isOver) this.#finish()
  }

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    try {
      this.#send()
    } catch (error) {
      this.#fail(error)
    }
    this.#isPumping = false
  }

  #send(): void {
    let blocks = 0
    while (!this.#isBlocked && !this.#isOver && !this.#isReading) {
      if (this.#at < this.#to) this.#pass(blocks++ < MAX_NOW)
      else if (this.#next < this.#pieces.length) this.#begin(this.#pieces[this.#next++]!)
      else {
        this.#finish()
        this.#sink.end()
      }
    }
  }

  #begin(piece: Piece): void {
    if ('to' in piece) {
      this.#at = piece.from
      this.#to = piece.to
    } else if (!this.#sink.data(piece)) this.#isBlocked = true
  }

  /** Passes the rest of a block on, or reads it. */
  #pass(mayReadNow: boolean): void {
    const index = Math.floor(this.#at / CHECKED_BYTES)
    const start = index * CHECKED_BYTES
    const copies = this.#sink.copies === true
    const block =
      this.#blockIn(start) ?? (mayReadNow ? this.#file.readNow(index, copies ? sharedBlock : ownBlock) : undefined)
    if (!block) {
      void this.#read(index)
      return
    }
    const slice = block.subarray(this.#at - start, this.#to - start)
    this.#at += slice.length
    this.bytes += slice.length
    if (!this.#sink.data(slice)) this.#isBlocked = true
  }

  /** Returns the block that begins there, if it was read. */
  #blockIn(start: number): Buffer | undefined {
    const chunk = this.#chunk
    if (!chunk || start < this.#chunkAt || start >= this.#chunkAt + chunk.length) return undefined
    return chunk.subarray(start - this.#chunkAt, start - this.#chunkAt + CHECKED_BYTES)
  }

  async #read(index: number): Promise<void> {
    this.#isReading = true
    const { length } = this.#file
    const bytes = Math.min(length - index * CHECKED_BYTES, READ_BLOCKS * CHECKED_BYTES)
    if (this.#sink.copies !== true || (this.#memory?.length ?? 0) < bytes) this.#memory = Buffer.allocUnsafeSlow(bytes)
    // The file stays open for this read, also if the client leaves.
    this.#file.retain()
    try {
      this.#chunk = await this.#file.read(index, READ_BLOCKS, this.#memory)
      this.#chunkAt = index * CHECKED_BYTES
      this.#isReading = false
      this.#pump()
    } catch (error) {
      if (!this.#isOver) this.#fail(error)
    }
    this.#file.release()
  }

  #fail(error: unknown): void {
    if (!this.#isOver) this.#finish()
    this.#sink.fail(error)
  }

  #finish(): void {
    this.#isOver = true
    this.#file.release()
    this.#done()
  }
}
