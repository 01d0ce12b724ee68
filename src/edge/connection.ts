import type { Socket } from 'node:net'
import { plainAddress } from './client-address.js'
import { Framing, type Fault, type FramingLimits } from './framing.js'
import { linger } from './refusal.js'

/** How many bytes of requests that have to wait are read ahead, so that a client that leaves is noticed meanwhile. */
const READ_AHEAD = 16_384

/** What a connection tells about. */
export interface ConnectionEvents {
  /** The bytes that arrived are no request. Nothing more is read. */
  refused(connection: ClientConnection, fault: Fault): void
}

/**
 * A client's connection. Stands between the socket and Node's parser, hands on what is well-formed, and only one request
 * at a time: requests that a client sends without waiting are held back until the one before is answered.
 */
export class ClientConnection {
  readonly socket: Socket
  /** The peer's address; empty when it left before it was asked for. */
  readonly address: string
  readonly framing: Framing
  /** Ends the request being answered, when there is one: with an answer for the fault, or without for a lost client. */
  answering: ((fault: Fault) => void) | undefined
  readonly #events: ConnectionEvents
  readonly #parse: (chunk: Buffer) => void
  /** What came of requests that have to wait, in order. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Takes the bytes instead of the parser, once the connection speaks another protocol. */
  #tunnel: ((chunk: Buffer) => void) | undefined
  #done = false

  constructor(socket: Socket, limits: FramingLimits, events: ConnectionEvents) {
    this.socket = socket
    this.address = plainAddress(socket.remoteAddress ?? '')
    this.framing = new Framing(limits)
    this.#events = events
    // Node's server listens for the bytes already. Listening here as well makes it read through the socket's events
    // and not past them.
    this.#parse = socket.listeners('data')[0] as (chunk: Buffer) => void
    socket.removeListener('data', this.#parse)
    socket.on('data', (chunk: Buffer) => this.#arrived(chunk))
    // Called by Node's server after the last answer.
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const complete = this.framing.complete && this.#held.length === 0
      this.finish()
      if (complete) destroySoon()
      else linger(socket)
    }
  }

  /** No request is being read or answered. */
  get idle(): boolean {
    return this.answering === undefined && this.framing.idle && this.#tunnel === undefined
  }

  /** The request is answered: on to the next one. */
  next(): void {
    this.answering = undefined
    if (this.#done || !this.framing.complete) return
    this.framing.next()
    if (this.#held.length === 0) return
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

  #arrived(chunk: Buffer): void {
    if (this.#tunnel) this.#tunnel(chunk)
    else if (this.#done) return
    else if (this.framing.complete) this.#hold(chunk)
    else this.#scan(chunk)
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
    const end = this.framing.scan(chunk)
    if (this.framing.fault) {
      this.finish()
      this.#events.refused(this, this.framing.fault)
    } else if (end === chunk.length) this.#parse(chunk)
    else {
      this.#hold(chunk.subarray(end))
      this.#parse(chunk.subarray(0, end))
    }
  }
}
