import { Readable } from 'node:stream'
import type { BodyReader } from './connection.js'
import { HeldBytes, type MemoryBudget } from '../../core/memory-budget.js'

/** Where a body comes from, as far as it can be told to wait. */
export interface BodySource {
  pauseBody(reader: BodyReader): void
  resumeBody(reader: BodyReader): void
}

/** The beginning of a body that is held back. */
export interface Beginning {
  /** A byte string of at most as many bytes as were asked for. */
  readonly bytes: string
  /** Bytes that have come. */
  readonly seen: number
  /** That is the whole body. */
  readonly ended: boolean
}

/** What is held back while somebody wants to see it before it goes on. */
interface Holding {
  readonly limit: number
  readonly bytes: HeldBytes
  readonly ready: (beginning: Beginning) => void
}

/**
 * The body of a request on its way to the origin. Whoever gets it may destroy it; the client's connection, on which an
 * answer is still to be written, stays.
 */
export class RequestBody extends Readable implements BodyReader {
  readonly #source: BodySource
  readonly #begun: (arrived: boolean) => void
  /** Somebody wants it. */
  #wanted = false
  #holding: Holding | undefined
  /** What was held back and is still to go on, before what waits. */
  #held: HeldBytes | undefined
  /** What came before it was wanted, or behind what was held back: no more than one read from the socket. */
  #waiting: Buffer[] = []
  #ended = false

  /** `begun` is called when the first byte is wanted; `arrived`: there is one already. */
  constructor(source: BodySource, begun: (arrived: boolean) => void) {
    super({ highWaterMark: 65_536, emitClose: false })
    this.#source = source
    this.#begun = begun
    // Who sends it listens too, but stops listening when the origin has answered, and then an error would end the process.
    this.on('error', () => undefined)
  }

  /**
   * Holds the beginning of the body back and tells it, once: when more than `limit` bytes are there, or the end, or no
   * memory is left for more. Whoever reads this stream then gets every byte. Not told where the client leaves first.
   * Once, and before anybody reads.
   */
  hold(limit: number, memory: MemoryBudget, ready: (beginning: Beginning) => void): void {
    this.#held = new HeldBytes(memory)
    this.#holding = { limit, bytes: this.#held, ready }
    this.#begin()
  }

  /** Nobody will read it. Does nothing where somebody does. */
  abandon(): void {
    if (this.#held !== undefined && !this.readableDidRead) this.destroy()
  }

  receive(chunk: Buffer): void {
    if (this.destroyed) return
    if (this.#holding !== undefined) this.#keep(chunk, this.#holding)
    else if (this.#wanted && this.#held === undefined) this.#hand(chunk)
    else {
      this.#waiting.push(chunk)
      this.#source.pauseBody(this)
    }
  }

  /** Trailers end here: what follows a body is not forwarded. */
  finish(): void {
    if (this.destroyed) return
    this.#ended = true
    if (this.#holding !== undefined) this.#tell(this.#holding)
    else if (this.#wanted && this.#held === undefined) this.push(null)
  }

  lost(): void {
    if (!this.#ended) this.destroy(new Error('the client left'))
  }

  override _read(): void {
    if (this.#holding !== undefined) return
    if (!this.#wanted) this.#begin()
    else if (this.#drained()) this.#source.resumeBody(this)
  }

  #begin(): void {
    const early = this.#waiting
    const ended = this.#ended
    this.#waiting = []
    this.#ended = false
    this.#wanted = true
    this.#begun(early.length > 0)
    for (const chunk of early) this.receive(chunk)
    if (ended) this.finish()
    else if (this.#waiting.length === 0) this.#source.resumeBody(this)
  }

  #hand(chunk: Buffer): void {
    if (!this.push(chunk)) this.#source.pauseBody(this)
  }

  #keep(chunk: Buffer, holding: Holding): void {
    // One byte beyond the limit tells that there is more; the rest of a read need not be copied and counted.
    const kept = chunk.subarray(0, holding.limit + 1 - holding.bytes.length)
    if (!holding.bytes.append(kept)) this.#waiting.push(chunk)
    else if (holding.bytes.length <= holding.limit) return
    else if (kept.length < chunk.length) this.#waiting.push(chunk.subarray(kept.length))
    this.#source.pauseBody(this)
    this.#tell(holding)
  }

  #tell({ limit, bytes, ready }: Holding): void {
    this.#holding = undefined
    const seen = this.#waiting.reduce((sum, chunk) => sum + chunk.length, bytes.length)
    ready({ bytes: bytes.text(limit), seen, ended: this.#ended })
  }

  /** Hands on what was held back; false while there is more of it, or after the end. */
  #drained(): boolean {
    if (this.#held === undefined) return true
    for (let block = this.#held.shift(); block !== undefined; block = this.#held.shift()) {
      if (!this.push(block)) return false
    }
    for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
      if (!this.push(chunk)) return false
    }
    this.#held = undefined
    if (this.#ended) this.push(null)
    return !this.#ended
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // What still arrives is for whoever closes the connection to deal with.
    this.#source.pauseBody(this)
    this.#holding = undefined
    this.#held?.release()
    this.#held = undefined
    this.#waiting = []
    callback(error)
  }
}
