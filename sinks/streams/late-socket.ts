import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

/** A socket for libraries that need one immediately, while its connection is still being established. Fails if the connection fails. */
export class LateSocket extends Duplex {
  readonly #connecting: Promise<Socket>
  readonly #maxBytes: number
  #socket: Socket | undefined
  #received = 0

  /**
   * Creates a socket that accepts at most `maxBytes` from the other side. A hostile server would otherwise fill the
   * memory.
   */
  constructor(connecting: Promise<Socket>, maxBytes: number) {
    super({ allowHalfOpen: false })
    this.#connecting = connecting
    this.#maxBytes = maxBytes
  }

  // No method below is called before this callback.
  override _construct(done: (error?: Error | null) => void): void {
    void this.#await(done)
  }

  async #await(done: (error?: Error | null) => void): Promise<void> {
    try {
      this.#use(await this.#connecting)
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)))
      return
    }
    done()
    if (!this.destroyed) this.emit('connect')
  }

  #use(socket: Socket): void {
    this.#socket = socket
    socket.on('data', (data) => {
      this.#received += data.length
      if (this.#received > this.#maxBytes) this.destroy(new Error('the server sends too much'))
      else if (!this.push(data)) socket.pause()
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => this.destroy())
  }

  override _read(): void {
    this.#socket?.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket?.write(chunk, done)
  }

  override _final(done: () => void): void {
    this.#socket?.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket?.destroy()
    done(error)
  }

  unref(): void {
    this.#socket?.unref()
  }
}
