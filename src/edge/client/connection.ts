import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ResponseWriter } from './response-writer.js'
import { plainAddress } from '../../expr/index.js'
import type { BeginningQueue } from '../../core/schedule/beginning-queue.js'
import { LARGE_READ_BYTES, type TurnQueue } from '../../core/schedule/turn-queue.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import { fieldLines } from '../exchange/response-fields.js'
import type {
  BodyReader,
  ClientStream,
  ConnectionEvents,
  ConnectionLimits,
  OpenConnection,
  Refusal,
  Responding,
} from './client-stream.js'
import { Framing, type HttpParseError, type RequestHead } from './framing.js'
import { linger, reject } from './refusal.js'
import { takenBytes } from './write-clock.js'

/** Maximum bytes of waiting requests that are read ahead, so that a client that leaves is noticed in the meantime. */
const READ_AHEAD = 16_384

/** A client's connection. It reads requests sequentially. Pipelined requests are delayed. */
export class ClientConnection implements ClientStream, OpenConnection {
  readonly socket: Socket
  readonly ends: ConnectionEnds
  readonly secure: SecureConnection | undefined
  readonly address: string
  /** Read once, because the getter of the socket takes longer than a field of a request. */
  readonly port: number | undefined
  readonly framing: Framing
  readonly writer: ResponseWriter
  responding: Responding | undefined
  body: BodyReader | undefined
  readonly #events: ConnectionEvents
  readonly #monotonic: () => number
  readonly #turns: TurnQueue
  readonly #beginnings: BeginningQueue
  #limits: ConnectionLimits
  /** Time of the first byte of the request or, between requests, of the end of the last response. */
  #since: number
  #served = false
  /** Bytes of requests that have to wait, in order. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Receives the bytes after the connection switched to another protocol. */
  #tunnel: ((chunk: Buffer) => void) | undefined
  #done = false
  /** Waits for a later turn of the event loop to read more of a body. */
  #yielding = false
  /** Waits for a later turn of the event loop to read a request. */
  #waits = false
  /** The client ended its side meanwhile. */
  #endedEarly = false

  constructor(
    socket: Socket,
    limits: ConnectionLimits,
    monotonic: () => number,
    events: ConnectionEvents,
    {
      secure,
      ends = socket,
      turns,
      beginnings,
    }: {
      secure: SecureConnection | undefined
      ends: ConnectionEnds | undefined
      turns: TurnQueue
      beginnings: BeginningQueue
    },
  ) {
    this.#turns = turns
    this.#beginnings = beginnings
    this.#limits = limits
    this.socket = socket
    this.secure = secure
    this.ends = ends
    this.address = plainAddress(ends.remoteAddress ?? '')
    this.port = ends.remotePort
    this.framing = new Framing(limits)
    this.writer = new ResponseWriter(socket, (last) => this.responding?.delivered(last))
    this.#events = events
    this.#monotonic = monotonic
    this.#since = monotonic()
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    socket.on('end', () => this.#ended())
    // The connection ends after an error, so nothing else needs to be done.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      turns.delete(this.#turn)
      beginnings.delete(this.#begin)
      this.responding?.left()
      this.body?.lost()
    })
  }

  /** Whether no request is being read or processed. */
  get idle(): boolean {
    return this.responding === undefined && this.framing.idle && this.#tunnel === undefined && !this.#waits
  }

  get limits(): ConnectionLimits {
    return this.#limits
  }

  set limits(limits: ConnectionLimits) {
    this.#limits = limits
    this.framing.limits = limits
  }

  get hasBody(): boolean {
    return this.framing.hasBody
  }

  get receivedBytes(): number {
    return this.framing.messageBytes
  }

  /** If a response ends before its request, the rest of the request has to be discarded with the connection. */
  get reusable(): boolean {
    return this.framing.complete
  }

  get unsentBytes(): number {
    return this.socket.writableLength
  }

  get takenBytes(): number {
    return takenBytes(this.socket)
  }

  onDrain(listener: () => void): void {
    this.socket.once('drain', listener)
  }

  interim(status: number, fields: RawHeaders): void {
    const reason = STATUS_CODES[status] ?? ''
    this.socket.write(`HTTP/1.1 ${status} ${reason}\r\n${fieldLines(fields)}\r\n`, 'latin1')
  }

  reject(issue: HttpParseError, refusal: Refusal): number {
    this.finish()
    return reject(this.socket, issue, refusal)
  }

  next(): void {
    this.responding = undefined
    this.body = undefined
    if (this.#done || !this.framing.complete) return
    this.framing.next()
    this.#since = this.#monotonic()
    this.#served = true
    if (this.#held.length === 0) return
    if (!this.#beginnings.take()) this.#wait()
    // The call is deferred, because calls for requests of a few bytes would otherwise nest as deep as their number.
    else process.nextTick(() => this.#scanHeld())
  }

  /** Reads a request whose bytes are buffered, in a later turn of the event loop. */
  #wait(): void {
    this.#waits = true
    this.#beginnings.add(this.#begin)
  }

  readonly #begin = (): void => {
    this.#waits = false
    this.#scanHeld()
    if (this.#endedEarly) this.#ended()
  }

  #scanHeld(): void {
    if (this.#done || this.#held.length === 0) return
    const held = this.#release()
    this.socket.resume()
    this.#scan(held)
  }

  /** Passes all bytes from now on to `receive`, beginning with those already buffered. */
  tunnel(receive: (chunk: Buffer) => void): void {
    this.#tunnel = receive
    if (this.#held.length > 0) receive(this.#release())
    this.socket.resume()
  }

  finish(): void {
    this.#done = true
    this.#held = []
  }

  end(): void {
    const complete = this.framing.complete && this.#held.length === 0
    this.finish()
    if (complete) this.socket.destroySoon()
    else linger(this.socket)
  }

  /**
   * Closes the connection immediately, so that the client cannot mistake a part of a response for the whole. A reset,
   * which destroys responses that the client has not read yet, is sent only if nothing else marks the failure.
   */
  cut(): void {
    if (this.responding && this.writer.endsWithConnection) (this.secure?.transport ?? this.socket).resetAndDestroy()
    else this.socket.destroy()
  }

  pauseBody(reader: BodyReader): void {
    if (this.body !== reader || this.framing.complete || this.#done) return
    this.#yielding = false
    this.socket.pause()
  }

  resumeBody(reader: BodyReader): void {
    if (this.body === reader && !this.framing.complete && !this.#yielding) this.socket.resume()
  }

  check(): void {
    const { header_timeout, request_timeout, keep_alive_timeout, min_rate } = this.#limits
    const now = this.#monotonic()
    this.responding?.check(now)
    if (this.#done || this.#tunnel || this.framing.complete) return
    const age = now - this.#since
    if (this.framing.idle) {
      if (exceeds(age, this.#served ? keep_alive_timeout : header_timeout)) this.endIdle()
    } else if (exceeds(age, request_timeout) || (this.framing.inHead && exceeds(age, header_timeout)))
      this.#reject({ status: 408 })
    else if (this.body?.tooSlow(now, min_rate))
      this.#reject({ status: 408, detail: 'the body of the request arrives too slowly' })
  }

  /**
   * Closes the connection if no request is being read or processed. Bytes in transit are read first. Closing with
   * unread bytes sends a reset, and a client that has just sent a request would not know whether it may send it again.
   */
  endIdle(): void {
    if (!this.idle) return
    this.finish()
    linger(this.socket)
  }

  #arrived(chunk: Buffer): void {
    if (this.#tunnel) this.#tunnel(chunk)
    else if (this.#done) return
    else if (this.framing.complete || this.#waits) this.#hold(chunk)
    else if ((this.framing.idle || this.framing.inHead) && !this.#beginnings.take()) {
      this.#hold(chunk)
      this.#wait()
    } else {
      this.#scan(chunk)
      if (chunk.length >= LARGE_READ_BYTES && !this.#turns.spend(1)) this.#yield()
    }
  }

  /** Stops reading a body until a later turn of the event loop. */
  #yield(): void {
    const { socket } = this
    if (this.#done || this.framing.complete || socket.isPaused() || socket.destroyed) return
    this.#yielding = true
    this.#turns.add(this.#turn)
    socket.pause()
  }

  readonly #turn = (): void => {
    if (!this.#yielding) return
    this.#yielding = false
    this.socket.resume()
  }

  /**
   * Handles the client's end. Not every client that ends its side has left, but one that left sends nothing more than
   * this.
   */
  #ended(): void {
    this.#endedEarly = this.#waits
    if (this.#tunnel || this.#done || this.#waits) return
    if (this.responding?.written || (!this.responding && this.framing.idle)) this.socket.end()
    else if (this.responding) this.socket.destroy()
    else this.#reject({ status: 400 })
  }

  #hold(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    if (this.#heldBytes > READ_AHEAD) this.socket.pause()
  }

  #release(): Buffer {
    const held = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held)
    this.#held = []
    this.#heldBytes = 0
    return held
  }

  #scan(chunk: Buffer): void {
    const { framing } = this
    if (framing.idle) this.#since = this.#monotonic()
    const end = framing.scan(chunk)
    if (framing.issue) {
      this.#reject(framing.issue)
      return
    }
    if (end < chunk.length) this.#hold(chunk.subarray(end))
    if (framing.head) this.#request(framing.head)
    if (framing.body) this.body?.receive(framing.body)
    if (framing.complete) this.body?.finish()
  }

  #request(head: RequestHead): void {
    const { writer } = this
    writer.hold()
    try {
      this.#events.requested(this, head)
    } finally {
      writer.release()
    }
  }

  #reject(issue: HttpParseError): void {
    this.finish()
    this.#events.refused(this, issue)
  }
}

const exceeds = (age: number, limit: number): boolean => limit > 0 && age > limit
