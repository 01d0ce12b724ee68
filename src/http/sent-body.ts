import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { SocketWriter } from './socket-writer.js'

/** The body of a request on its way: sends it as fast as the origin takes it. */
export class SentBody {
  /** All of it has been sent. */
  done = false
  /** The origin does not take more just now. */
  #blocked = false
  /** The origin has taken something since {@link stuck} was last asked. */
  #moved = false
  readonly #body: Readable
  readonly #socket: Socket
  readonly #outlet: SocketWriter
  /** Bytes that are still to come; undefined: sent in chunks. */
  #left: number | undefined
  readonly #failed: (error: Error) => void
  readonly #pump = (): void => this.#send()
  readonly #drained = (): void => {
    this.#blocked = false
    this.#moved = true
    this.#send()
  }
  readonly #finished = (): void => this.#end()

  /** `length`: undefined where it is not known. `failed` is called where the body cannot be sent as it was announced. */
  constructor(
    body: Readable,
    length: number | undefined,
    { socket, writer, failed }: { socket: Socket; writer: SocketWriter; failed: (error: Error) => void },
  ) {
    this.#body = body
    this.#left = length
    this.#socket = socket
    this.#outlet = writer
    this.#failed = failed
    body.on('end', this.#finished)
    body.on('error', failed)
    body.on('readable', this.#pump)
    socket.on('drain', this.#drained)
    // What has already come leaves together with the head.
    this.#send()
  }

  /** Whether it stands still because of the origin: there is more, and none was taken since this was last asked. */
  stuck(): boolean {
    const moved = this.#moved
    this.#moved = false
    return this.#blocked && !moved
  }

  /** Sends nothing more; what is left of the body is thrown away. */
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
        this.#outlet.text(`${chunk.length.toString(16)}\r\n`)
        this.#outlet.bytes(chunk)
        this.#outlet.text('\r\n')
      } else if (chunk.length > this.#left) {
        this.#failed(new Error('the body is longer than its length says'))
        return
      } else {
        this.#left -= chunk.length
        this.#outlet.bytes(chunk)
      }
      this.#blocked = !this.#outlet.open
    }
  }

  #end(): void {
    if (this.#left !== undefined && this.#left > 0) {
      this.#failed(new Error('the body is shorter than its length says'))
      return
    }
    if (this.#left === undefined) this.#outlet.text('0\r\n\r\n')
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
