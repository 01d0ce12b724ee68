import type { Socket } from 'node:net'
import { ResponseWriter } from './response-writer.js'
import { plainAddress } from '../../expr/index.js'
import type { SecureConnection } from '../../tls/terminator.js'
import { Framing, type HttpParseError, type FramingLimits, type RequestHead } from './framing.js'
import { linger } from './refusal.js'

/** How many bytes of requests that have to wait are read ahead, so that a client that leaves is noticed meanwhile. */
const READ_AHEAD = 16_384

/** What a connection tells about. */
export interface ConnectionEvents {
  /** A request has come, at least its head. Bytes that follow are its body. */
  requested(connection: ClientConnection, head: RequestHead): void
  /** The bytes that arrived are no request, or it took too long. Nothing more is read. */
  refused(connection: ClientConnection, fault: HttpParseError): void
}

/** What a connection has to stay within; times in milliseconds, 0: no limit. */
export interface ConnectionLimits extends FramingLimits {
  readonly header_timeout: number
  readonly request_timeout: number
  readonly keep_alive_timeout: number
  readonly write_timeout: number
  /** Bytes per second. */
  readonly min_rate: number
}

/** The request being answered, as far as its connection has to know it. */
export interface Responding {
  /** Nothing more will be written. */
  readonly written: boolean
  /** Ends what the client takes too slowly. To be called about once a second. */
  check(now: number): void
  /** What the client sends is not what it should be. */
  faulted(fault: HttpParseError): void
  /** The answer has gone to the client; `last`: and it is the connection's last. */
  delivered(last: boolean): void
  /** The connection is closed. */
  left(): void
}

/** Takes the body of a request. */
export interface BodyReader {
  receive(chunk: Buffer): void
  finish(): void
  /** There will be no more of it. */
  lost(): void
  /** Nobody reads it any more, if nobody has begun to. */
  abandon(): void
  /** Whether it arrives slower than `rate` bytes per second. To be called about once a second. */
  tooSlow(now: number, rate: number): boolean
}

/** A client's connection: reads requests, one at a time. Those that a client sends without waiting are held back. */
export class ClientConnection {
  readonly socket: Socket
  /** TLS facts of the connection; undefined if it is not encrypted. */
  readonly secure: SecureConnection | undefined
  /** The peer's address; empty when it left before it was asked for. */
  readonly address: string
  readonly framing: Framing
  readonly writer: ResponseWriter
  responding: Responding | undefined
  /** Gets the body of the request being answered; without one it is thrown away. */
  body: BodyReader | undefined
  readonly #events: ConnectionEvents
  readonly #monotonic: () => number
  /** When the first byte of the request came or, between requests, when the last answer had gone. */
  #since: number
  #served = false
  /** What came of requests that have to wait, in order. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Takes the bytes, once the connection speaks another protocol. */
  #tunnel: ((chunk: Buffer) => void) | undefined
  #done = false

  constructor(
    socket: Socket,
    limits: FramingLimits,
    monotonic: () => number,
    events: ConnectionEvents,
    secure?: SecureConnection,
  ) {
    this.socket = socket
    this.secure = secure
    this.address = plainAddress(socket.remoteAddress ?? '')
    this.framing = new Framing(limits)
    this.writer = new ResponseWriter(socket, (last) => this.responding?.delivered(last))
    this.#events = events
    this.#monotonic = monotonic
    this.#since = monotonic()
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    socket.on('end', () => this.#ended())
    // An error is followed by the end of the connection, and that is all there is to know.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.responding?.left()
      this.body?.lost()
    })
  }

  /** No request is being read or answered. */
  get idle(): boolean {
    return this.responding === undefined && this.framing.idle && this.#tunnel === undefined
  }

  /** The request is answered: on to the next one. */
  next(): void {
    this.responding = undefined
    this.body = undefined
    if (this.#done || !this.framing.complete) return
    this.framing.next()
    this.#since = this.#monotonic()
    this.#served = true
    if (this.#held.length === 0) return
    // Not at once: answers to requests of a few bytes would otherwise be nested as deep as there are of them.
    process.nextTick(() => this.#scanHeld())
  }

  #scanHeld(): void {
    if (this.#done || this.#held.length === 0) return
    const held = this.#release()
    this.socket.resume()
    this.#scan(held)
  }

  /** From here on bytes go to `receive`, beginning with those that are already there. */
  tunnel(receive: (chunk: Buffer) => void): void {
    this.#tunnel = receive
    if (this.#held.length > 0) receive(this.#release())
    this.socket.resume()
  }

  /** Takes nothing more from the client. */
  finish(): void {
    this.#done = true
    this.#held = []
  }

  /** Closes the connection behind its last answer. */
  end(): void {
    const complete = this.framing.complete && this.#held.length === 0
    this.finish()
    if (complete) this.socket.destroySoon()
    else linger(this.socket)
  }

  /**
   * Closes the connection at once, so that the client cannot take what it has of an answer for the whole. A reset, which
   * takes answers away that the client has not read yet, is sent only where nothing else tells.
   */
  cut(): void {
    if (this.responding && this.writer.endsWithConnection) (this.secure?.transport ?? this.socket).resetAndDestroy()
    else this.socket.destroy()
  }

  /** Lets the rest of the body wait. The reader of one that is over has nothing to say any more. */
  pauseBody(reader: BodyReader): void {
    if (this.body === reader && !this.framing.complete && !this.#done) this.socket.pause()
  }

  resumeBody(reader: BodyReader): void {
    if (this.body === reader && !this.framing.complete) this.socket.resume()
  }

  /** Ends what takes too long. */
  check({ header_timeout, request_timeout, keep_alive_timeout, min_rate }: ConnectionLimits): void {
    const now = this.#monotonic()
    this.responding?.check(now)
    if (this.#done || this.#tunnel || this.framing.complete) return
    const age = now - this.#since
    if (this.framing.idle) {
      if (exceeds(age, this.#served ? keep_alive_timeout : header_timeout)) this.endIdle()
    } else if (exceeds(age, request_timeout) || (this.framing.inHead && exceeds(age, header_timeout)))
      this.#refuse({ status: 408 })
    else if (this.body?.tooSlow(now, min_rate))
      this.#refuse({ status: 408, detail: 'the body of the request arrives too slowly' })
  }

  /**
   * Closes the connection if no request is being read or answered. Bytes that are on their way are read: closing with
   * unread bytes sends a reset, and a client that has just sent a request could not tell that it may send it again.
   */
  endIdle(): void {
    if (!this.idle) return
    this.finish()
    linger(this.socket)
  }

  #arrived(chunk: Buffer): void {
    if (this.#tunnel) this.#tunnel(chunk)
    else if (this.#done) return
    else if (this.framing.complete) this.#hold(chunk)
    else this.#scan(chunk)
  }

  /** The client sends no more. Not all who do so have left, but none of those who left say more than this. */
  #ended(): void {
    if (this.#tunnel || this.#done) return
    if (this.responding?.written || (!this.responding && this.framing.idle)) this.socket.end()
    else if (this.responding) this.socket.destroy()
    else this.#refuse({ status: 400 })
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
    if (framing.fault) {
      this.#refuse(framing.fault)
      return
    }
    if (end < chunk.length) this.#hold(chunk.subarray(end))
    if (framing.head) this.#events.requested(this, framing.head)
    if (framing.body) this.body?.receive(framing.body)
    if (framing.complete) this.body?.finish()
  }

  #refuse(fault: HttpParseError): void {
    this.finish()
    this.#events.refused(this, fault)
  }
}

const exceeds = (age: number, limit: number): boolean => limit > 0 && age > limit
