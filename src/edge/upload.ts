import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { HeldBytes, type MemoryBudget } from './memory-budget.js'

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
 * The body of a request on its way to the origin. The request itself is not handed over, because whoever gets it may
 * destroy it, and with it the client's connection, on which an answer is still to be written.
 */
export class Upload extends Readable {
  readonly #request: IncomingMessage
  readonly #begun: () => void
  #reading = false
  #holding: Holding | undefined
  /** What was held back and is still to go on, in order: bytes, a chunk that there was no room for, the end. */
  #held: HeldBytes | undefined
  #beyond: Buffer | undefined
  #ended = false

  /** `begun` is called when the first byte is wanted. */
  constructor(request: IncomingMessage, begun: () => void) {
    super({ highWaterMark: 65_536, emitClose: false })
    this.#request = request
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

  override _read(): void {
    if (this.#holding !== undefined || !this.#drained()) return
    if (this.#reading) this.#request.resume()
    else this.#begin()
  }

  #begin(): void {
    this.#reading = true
    this.#begun()
    this.#request.on('data', (chunk: Buffer) => {
      if (this.destroyed) return
      if (this.#holding !== undefined) this.#keep(chunk, this.#holding)
      else if (!this.push(chunk)) this.#request.pause()
    })
    this.#request.on('end', () => {
      this.#ended = true
      if (this.#holding !== undefined) this.#tell(this.#holding)
      else if (this.#held === undefined) this.push(null)
    })
    // Trailers end here: what follows a body is not forwarded.
    this.#request.on('error', (error) => this.destroy(error))
  }

  #keep(chunk: Buffer, holding: Holding): void {
    if (!holding.bytes.append(chunk)) this.#beyond = chunk
    else if (holding.bytes.length <= holding.limit) return
    this.#request.pause()
    this.#tell(holding)
  }

  #tell({ limit, bytes, ready }: Holding): void {
    this.#holding = undefined
    const seen = bytes.length + (this.#beyond?.length ?? 0)
    ready({ bytes: bytes.text(limit), seen, ended: this.#ended })
  }

  /** Hands on what was held back; false while there is more of it, or after the end. */
  #drained(): boolean {
    if (this.#held === undefined) return true
    for (let block = this.#held.shift(); block !== undefined; block = this.#held.shift()) {
      if (!this.push(block)) return false
    }
    this.#held = undefined
    const more = this.#beyond === undefined || this.push(this.#beyond)
    this.#beyond = undefined
    if (this.#ended) this.push(null)
    return more && !this.#ended
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // What still arrives is for whoever closes the connection to deal with.
    this.#request.pause()
    this.#holding = undefined
    this.#held?.release()
    this.#held = undefined
    this.#beyond = undefined
    callback(error)
  }
}
