import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'

/**
 * The body of a request on its way to the origin. The request itself is not handed over, because whoever gets it may
 * destroy it, and with it the client's connection, on which an answer is still to be written.
 */
export class Upload extends Readable {
  readonly #request: IncomingMessage
  readonly #begun: () => void
  #reading = false

  /** `begun` is called when the origin is ready for the first byte. */
  constructor(request: IncomingMessage, begun: () => void) {
    super({ highWaterMark: 65_536, emitClose: false })
    this.#request = request
    this.#begun = begun
    // Who sends it listens too, but stops listening when the origin has answered, and then an error would end the process.
    this.on('error', () => undefined)
  }

  override _read(): void {
    if (this.#reading) {
      this.#request.resume()
      return
    }
    this.#reading = true
    this.#begun()
    this.#request.on('data', (chunk: Buffer) => {
      if (!this.destroyed && !this.push(chunk)) this.#request.pause()
    })
    this.#request.on('end', () => this.push(null))
    // Trailers end here: what follows a body is not forwarded.
    this.#request.on('error', (error) => this.destroy(error))
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // What still arrives is for whoever closes the connection to deal with.
    this.#request.pause()
    callback(error)
  }
}
