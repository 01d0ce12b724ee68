import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

/** Longer chunks are not copied. The buffer has space for a chunk of this length and a head before it. */
const MAX_CHUNK_BYTES = 65_536
const ROOM = MAX_CHUNK_BYTES + 16_384
/** TLS encrypts or copies a chunk during the write, so a chunk of this length is not copied before. It is one record. */
const MIN_DIRECT_BYTES = 16_384
/** This much data for TLS is sent at once. Data that follows in the same turn would be copied while it waits. */
const MANY_BYTES = 49_152

// One buffer for all connections, since one connection's data is sent before the next one stages data. It stays in the
// processor's cache, and each response costs one copy instead of separate memory.
const stage: { space: Buffer; used: number; owner: SocketWriter | undefined } = {
  space: Buffer.allocUnsafeSlow(ROOM),
  used: 0,
  owner: undefined,
}

/** Writes to a socket. Data staged in one turn of the event loop is sent in one piece, with one system call. */
export class SocketWriter {
  readonly #socket: Socket
  /** Every write is finished in a later turn, even if the system has accepted all data. */
  readonly #finishesLater: boolean
  /** Staged text. Nothing is staged before it. */
  #text = ''
  #flushing = false
  #isHeld = false
  /** Writes of TLS that are not finished, and the listener of the end of the last one. */
  #unfinished = 0
  #accepted: (() => void) | undefined
  readonly #finished: ((error?: Error | null) => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    this.#finishesLater = socket instanceof TLSSocket
    if (this.#finishesLater) this.#finished = (error) => this.#finish(error)
  }

  /** Returns whether the peer keeps up. If not, the socket's `drain` event follows when it does. */
  get open(): boolean {
    if (this.#finishesLater && stage.owner === this && stage.used >= MANY_BYTES) this.flush()
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

  /** Stages bytes. They are copied, except chunks of more than 64 KiB, which must not change afterwards. */
  bytes(chunk: Buffer): void {
    if (chunk.length > MAX_CHUNK_BYTES || this.#mayPass(chunk)) {
      this.flush()
      this.#pass(chunk)
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

  /** Staged data is not sent before {@link release}, unless something calls {@link flush} or {@link end}. */
  hold(): void {
    this.#isHeld = true
  }

  /** Sends staged data at the end of the turn. A response that ended before needs nothing. */
  release(): void {
    this.#isHeld = false
    if (stage.owner === this || this.#text !== '') this.#flushSoon()
  }

  /** Sends the staged data. */
  flush(): void {
    const text = this.#text
    this.#text = ''
    if (stage.owner === this) {
      const buffered = stage.space.subarray(0, stage.used)
      stage.owner = undefined
      stage.used = 0
      this.#write(buffered)
    } else if (text !== '') this.#pass(text)
  }

  /** Sends the staged data. Calls `accepted` when the system has accepted everything written so far. */
  end(accepted: () => void): void {
    const socket = this.#socket
    this.flush()
    if (socket.destroyed) return
    // The last write itself reports the end. An empty write after it would cost a system call with TLS.
    if (this.#unfinished > 0) this.#accepted = accepted
    else if (socket.writableLength === 0) accepted()
    else socket.write('', unlessFailed(accepted))
  }

  /** Whether the socket uses the bytes only during the write. */
  #mayPass(chunk: Buffer): boolean {
    if (!this.#finishesLater || chunk.length < MIN_DIRECT_BYTES || stage.owner === this || this.#text !== '')
      return false
    return this.#socket.writableLength === 0 && !this.#socket.connecting
  }

  /** Gives data to the socket. */
  #pass(data: Buffer | string): void {
    if (this.#socket.destroyed) return
    if (this.#finished) this.#unfinished++
    this.#socket.write(data, 'latin1', this.#finished)
  }

  #finish(error: Error | null | undefined): void {
    this.#unfinished--
    if (this.#unfinished > 0) return
    const accepted = this.#accepted
    this.#accepted = undefined
    if (!error) accepted?.()
  }

  #write(buffered: Buffer): void {
    const socket = this.#socket
    if (socket.destroyed) return
    // A socket that is not connected, or has unsent data, uses the bytes after `write` has returned.
    if (socket.writableLength > 0 || socket.connecting) this.#pass(Buffer.from(buffered))
    else {
      this.#pass(buffered)
      // The system has not accepted all data, so the buffer belongs to the socket now. TLS has encrypted or copied all
      // data.
      if (socket.writableLength > 0 && !this.#finishesLater) stage.space = Buffer.allocUnsafeSlow(ROOM)
    }
  }

  /** Claims the buffer for a chunk of this length, after the staged text. */
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
    if (this.#flushing || this.#isHeld) return
    this.#flushing = true
    process.nextTick(flushNow, this)
  }

  /** Called at the end of the turn in which data was staged. */
  turn(): void {
    this.#flushing = false
    this.flush()
  }
}

const unlessFailed =
  (accepted: () => void) =>
  (error?: Error | null): void =>
    error ? undefined : accepted()

const flushNow = (writer: SocketWriter): void => writer.turn()
