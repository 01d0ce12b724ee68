import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Longer pieces are not copied. What is staged beside a piece of this length may have a head in front of it. */
const MAX_CHUNK_BYTES = 65_536
const ROOM = MAX_CHUNK_BYTES + 16_384

// One space for all connections, since what one stages is sent before the next one stages anything: so it stays in the
// processor's cache, and each answer costs one copy instead of memory of its own.
const stage: { space: Buffer; used: number; owner: SocketWriter | undefined } = {
  space: Buffer.allocUnsafeSlow(ROOM),
  used: 0,
  owner: undefined,
}

/** Writes to a socket: what is staged in one go of the event loop leaves in one piece, and so with one system call. */
export class SocketWriter {
  readonly #socket: Socket
  /** Staged, and in front of it nothing is. */
  #text = ''
  #flushing = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** The other side keeps up. Where it does not, the socket's `drain` tells when it has. */
  get open(): boolean {
    return this.#socket.writableLength === 0 || !this.#socket.writableNeedDrain
  }

  /** Stages text, each character one byte (latin1). */
  text(text: string): void {
    if (stage.owner !== this) this.#text += text
    else if (this.#hasRoom(text.length)) stage.used += stage.space.write(text, stage.used, 'latin1')
    else {
      this.flush()
      this.#text = text
    }
    this.#flushSoon()
  }

  /** Stages bytes. They are copied, but for pieces of more than 64 KiB, which must not change any more. */
  bytes(chunk: Buffer): void {
    if (chunk.length > MAX_CHUNK_BYTES) {
      this.flush()
      if (!this.#socket.destroyed) this.#socket.write(chunk)
      return
    }
    if (stage.owner !== this) this.#settle(chunk.length)
    else if (!this.#hasRoom(chunk.length)) {
      this.flush()
      this.#settle(chunk.length)
    }
    stage.space.set(chunk, stage.used)
    stage.used += chunk.length
    this.#flushSoon()
  }

  /** Sends what is staged. */
  flush(): void {
    const text = this.#text
    this.#text = ''
    if (stage.owner === this) {
      const buffered = stage.space.subarray(0, stage.used)
      stage.owner = undefined
      stage.used = 0
      this.#write(buffered)
    } else if (text !== '' && !this.#socket.destroyed) this.#socket.write(text, 'latin1')
  }

  #write(buffered: Buffer): void {
    const socket = this.#socket
    if (socket.destroyed) return
    // Neither is done with the bytes when it returns.
    if (socket.writableLength > 0 || socket instanceof TLSSocket) socket.write(Buffer.from(buffered))
    else {
      socket.write(buffered)
      // The system has not taken all of it: the space belongs to the socket now.
      if (socket.writableLength > 0) stage.space = Buffer.allocUnsafeSlow(ROOM)
    }
  }

  /** Takes the space for a piece of this length, behind the text that is staged. */
  #settle(bytes: number): void {
    stage.owner?.flush()
    if (this.#text.length + bytes > ROOM) this.flush()
    stage.owner = this
    if (this.#text === '') return
    stage.used = stage.space.write(this.#text, 0, 'latin1')
    this.#text = ''
  }

  #hasRoom(bytes: number): boolean {
    return stage.used + bytes <= ROOM
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    process.nextTick(flushNow, this)
  }

  /** Called at the end of the go in which something was staged. */
  turn(): void {
    this.#flushing = false
    this.flush()
  }
}

const flushNow = (writer: SocketWriter): void => writer.turn()
