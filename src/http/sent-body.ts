import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { SocketWriter } from './socket-writer.js'

/** The body of a request in transit. Sends the body as fast as the origin reads. */
export class SentBody {
  /** True after the whole body has been sent. */
  done = false
  /** The origin does not accept more at the moment. */
  #blocked = false
  /** The origin has accepted data since {@link stuck} was last read. */
  #moved = false
  readonly #body: Readable
  readonly #socket: Socket
  readonly #socketWriter: SocketWriter
  /** Bytes still to be sent. Undefined if the body is sent in chunks. */
  #left: number | undefined
  readonly #failed: (error: Error) => void
  readonly #pump = (): void => this.#send()
  readonly #drained = (): void => {
    this.#blocked = false
    this.#moved = true
    this.#send()
  }
  readonly #finished = (): void => this.#end()

  /** `length` is undefined if it is not known. `failed` is called if the body cannot be sent as announced. */
  constructor(
    body: Readable,
    length: number | undefined,
    { socket, writer, failed }: { socket: Socket; writer: SocketWriter; failed: (error: Error) => void },
  ) {
    this.#body = body
    this.#left = length
    this.#socket = socket
    this.#socketWriter = writer
    this.#failed = failed
    body.on('end', this.#finished)
    body.on('error', failed)
    body.on('readable', this.#pump)
    socket.on('drain', this.#drained)
    // Data that has already arrived is sent together with the head.
    this.#send()
  }

  /** Returns whether it waits for the client to send more. */
  get waitsForBody(): boolean {
    return !this.#blocked && !this.done
  }

  /**
   * Returns whether the origin blocks the body. It does if more data is available and none was accepted since the last
   * read of this value.
   */
  stuck(): boolean {
    const moved = this.#moved
    this.#moved = false
    return this.#blocked && !moved
  }

  /** Sends nothing more. The rest of the body is discarded. */
  stop(): void {
    this.#detach()
    this.#blocked = true
    if (!this.done) this.#body.destroy()
  }

  #send(): void {
    while (!this.#blocked && !this.done) {
      const chunk = this.#body.read() as Buffer | null
      if (chunk === null) return
      if (this.#left === undefined) {
        this.#socketWriter.text(`${chunk.length.toString(16)}\r\n`)
        this.#socketWriter.bytes(chunk)
        this.#socketWriter.text('\r\n')
      } else if (chunk.length > this.#left) {
        this.#failed(new Error('the body is longer than its length says'))
        return
      } else {
        this.#left -= chunk.length
        this.#socketWriter.bytes(chunk)
      }
      this.#blocked = !this.#socketWriter.open
    }
  }

  #end(): void {
    if (this.#left !== undefined && this.#left > 0) {
      this.#failed(new Error('the body is shorter than its length says'))
      return
    }
    if (this.#left === undefined) this.#socketWriter.text('0\r\n\r\n')
    this.done = true
    this.#detach()
  }

  #detach(): void {
    this.#body.off('end', this.#finished)
    this.#body.off('error', this.#failed)
    this.#body.off('readable', this.#pump)
    this.#socket.off('drain', this.#drained)
  }
}
