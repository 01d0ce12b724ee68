import type { OnReadOpts, Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { LARGE_READ_BYTES, type TurnQueue } from '../core/schedule/turn-queue.js'
import { ResponseReader, type UnreadHead } from './response-reader.js'
import { ClientPace } from './client-pace.js'
import type { Connector } from './connector.js'
import { drainReads } from './drain-reads.js'
import { InvalidResponse, ConnectionLost, Overloaded, TooSlow } from './origin-errors.js'
import { SocketWriter } from './socket-writer.js'
import { SentBody } from './sent-body.js'

/**
 * A request to an origin, and the receiver of its response. Calls `head`, any number of `data` and then `end`, or
 * `fail` instead.
 */
export interface OriginRequest {
  readonly method: string
  /** True if the request asks for a WebSocket. */
  readonly upgrade: boolean
  /** Its head, as {@link requestText} writes it. */
  readonly text: string
  /** Bytes that begin a separate connection, before TLS. Undefined if any connection will do. */
  readonly preamble?: Buffer | undefined
  readonly body: Readable | null
  /** Length of the body. Undefined if it is not known. */
  readonly length: number | undefined
  /**
   * Milliseconds until the head of the response, and between two reads of the response. Undefined for the common
   * limits.
   */
  readonly timeoutMs: number | undefined
  /** The client whose share of the origin's connections it uses. Undefined for no share and no limit. */
  readonly client: string | undefined
  /** The connection of the request, from its start to its end. Set by the connection. */
  connection: OriginConnection | undefined
  /** Called when the request is sent. */
  sent(): void
  /** Called for an interim response, before `head`. */
  interim?(status: number, fields: readonly string[]): void
  head(status: number, fields: readonly string[]): void
  /** Called instead of `head`, if present. */
  unreadHead?(head: UnreadHead): void
  /**
   * Receives body bytes, which are valid only during the call. If it returns false, send no more until
   * {@link OriginConnection.resume}.
   */
  data(chunk: Buffer): boolean
  end(): void
  /** Called when the origin switches to another protocol. */
  switched(status: number, fields: readonly string[], origin: Duplex): void
  fail(error: Error): void
}

/** Times in milliseconds. */
export interface OriginLimits {
  readonly connect_timeout: number
  readonly headers_timeout: number
  readonly body_timeout: number
  readonly keep_alive_timeout: number
  readonly queue_timeout: number
  readonly header_bytes: number
  readonly connections: number
  readonly queue_size: number
}

/** The two ends of a connection to an origin. */
export interface OriginPeer {
  readonly address: string | undefined
  readonly localAddress: string | undefined
  /** The version of TLS, `TLSv1.3`; `none` without. */
  readonly protocol: string
}

/** The owner of the connection. */
export interface ConnectionOwner {
  readonly limits: OriginLimits
  readonly turns: TurnQueue
  /**
   * Called when the response is complete and the connection accepts another request. With `quarantine`, the connection
   * does so later.
   */
  released(connection: OriginConnection, quarantine: boolean): void
  /** Called once when the connection accepts no more requests. */
  gone(connection: OriginConnection): void
}

/** Maximum bytes of one read. */
const READ_BYTES = 65_536
/** Maximum bytes of a TLS record. */
const RECORD_BYTES = 16_384
/** Maximum number of fields. A response within the byte limit needs fewer. */
const MAX_FIELDS = 4096
/** Subtracted from the time that the origin keeps a connection open, for the network delay. */
const KEEP_ALIVE_MARGIN_MS = 1000

// Data of a plain connection is processed before the next one is read. One buffer is enough for all. Windows fills the
// buffer before it reports the data.
const shared = process.platform === 'win32' ? undefined : Buffer.allocUnsafeSlow(READ_BYTES)

/**
 * Rounds of the event loop without data after which no data is left to read. One round suffices, and another is for
 * safety.
 */
const QUIET_ROUNDS = 2

const CONNECTING = 0
const IDLE = 1
/** A request is sent, and no head of a response has arrived. */
const WAITING = 2
const RESPONDING = 3
const CLOSED = 4

/** One connection to an origin. Carries responses sequentially. */
export class OriginConnection {
  /** Undefined before it is connected. */
  peer: OriginPeer | undefined
  /** The client of its request, or of the last one. */
  client: string | undefined
  readonly #home: ConnectionOwner
  readonly #socket: Socket
  readonly #reader: ResponseReader
  readonly #socketWriter: SocketWriter
  #state = CONNECTING
  #request: OriginRequest | undefined
  #sent: SentBody | undefined
  /** Whether it has carried a response before. */
  #served = false
  /** Whether a byte of the response has arrived. */
  #heard = false
  #paused = false
  /** Waits for a later turn of the event loop to read more. */
  #yielding = false
  /** Milliseconds in the current state or, during a response, since the last read. */
  #waited = 0
  /** Maximum of these milliseconds. */
  #allowed: number
  #keepAliveMs: number
  /** The reason why nothing more can be sent. Undefined while sending is possible. */
  #unsendable: Error | undefined
  /** Rounds of the event loop without a read, counted only when needed. */
  #quiet = 0
  readonly #pace = new ClientPace()

  /** Connects for a request. A connection for another protocol serves only that request. */
  constructor(connector: Connector, home: ConnectionOwner, request: OriginRequest) {
    this.#home = home
    this.#request = request
    this.client = request.client
    request.connection = this
    const { connect_timeout, keep_alive_timeout, header_bytes } = home.limits
    this.#allowed = connect_timeout
    this.#keepAliveMs = keep_alive_timeout
    this.#reader = new ResponseReader({ header_bytes, header_count: MAX_FIELDS, body_bytes: 0 })
    // TLS over a socket that is already open ignores `onread`.
    const flows = request.upgrade || (connector.tls && request.preamble !== undefined)
    const socket = connector.open(flows ? undefined : this.#reading(connector.tls), request.preamble)
    this.#socket = socket
    this.#socketWriter = new SocketWriter(socket)
    socket.on(connector.connected, () => this.#connected())
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#broken(error))
    socket.on('close', () => this.#lost('the origin closed the connection'))
    if (flows) socket.on('data', this.#received)
    else drainReads(socket, (error) => this.#unsent(error))
  }

  /** Sends a request. Must be called after the connection was released. */
  send(request: OriginRequest): void {
    this.#request = request
    this.client = request.client
    request.connection = this
    this.#begin(request)
  }

  /** Cancels the response. */
  abort(): void {
    if (this.#request) this.#request.connection = undefined
    this.#request = undefined
    this.close()
  }

  /** Bytes per second, if it waits for a client that is slow. Otherwise undefined. */
  get slowRate(): number | undefined {
    const waits = this.#paused || this.#sent?.waitsForBody === true
    return waits && this.#request !== undefined && this.#pace.isSlow ? this.#pace.rate : undefined
  }

  /** Ends the request of a slow client, since others need the connection. */
  giveWay(): void {
    this.#fail(new Overloaded('the client is slow, and other requests wait for a connection to the origin'))
  }

  /** Continues reading the response. */
  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#waited = 0
    if (!this.#yielding) this.#readOn()
  }

  #readOn(): void {
    this.#socket.resume()
    if (this.#unsendable) this.#drainReads(this.#unsendable)
  }

  /** Stops reading until a later turn of the event loop. */
  #yield(): void {
    if (this.#paused || this.#state !== RESPONDING) return
    this.#yielding = true
    this.#home.turns.add(this.#turn)
    this.#socket.pause()
  }

  readonly #turn = (): void => {
    this.#yielding = false
    if (!this.#paused && this.#state !== CLOSED) this.#readOn()
  }

  /** Closes the connection. Its request, if any, fails. */
  close(): void {
    this.#fail(new ConnectionLost('the connection was closed', false))
  }

  /** Ends requests that take too long. Must be called repeatedly, with the milliseconds since the last call. */
  tick(ms: number): void {
    if (this.#request) this.#pace.tick(ms, this.#reader.messageBytes + this.#socket.bytesWritten)
    // The origin is not slow while it waits for the client's next bytes, or for the client to read, or while it still
    // accepts data.
    if (this.#sent && !this.#sent.done && !this.#sent.stuck()) this.#waited = 0
    else if (this.#paused) return
    else if (this.#waited < this.#allowed) this.#waited += ms
    else this.#late()
  }

  #late(): void {
    if (this.#state === CONNECTING)
      this.#fail(new TooSlow('connect_timeout', 'the origin does not accept the connection'))
    else if (this.#state === WAITING) this.#fail(new TooSlow('headers_timeout', 'the origin does not respond'))
    else if (this.#state === RESPONDING)
      this.#fail(new TooSlow('body_timeout', 'the origin stopped sending its response'))
    else this.close()
  }

  #reading(tls: boolean): OnReadOpts {
    const callback = (bytes: number, chunk: Uint8Array): boolean => {
      this.#read(chunk as Buffer, bytes)
      return !this.#paused && !this.#yielding
    }
    const own = tls ? RECORD_BYTES : READ_BYTES
    return { buffer: (tls ? undefined : shared) ?? Buffer.allocUnsafeSlow(own), callback }
  }

  readonly #received = (chunk: Buffer): void => this.#read(chunk, chunk.length)

  #connected(): void {
    const socket = this.#socket
    this.peer = {
      address: socket.remoteAddress,
      localAddress: socket.localAddress,
      protocol: (socket instanceof TLSSocket && socket.getProtocol()) || 'none',
    }
    if (this.#request && this.#state === CONNECTING) this.#begin(this.#request)
  }

  #begin(request: OriginRequest): void {
    this.#state = WAITING
    this.#heard = false
    this.#waited = 0
    this.#allowed = request.timeoutMs ?? this.#home.limits.headers_timeout
    this.#reader.expect(request.method, request.upgrade)
    this.#pace.begin(this.#socket.bytesWritten)
    request.sent()
    if (request.body === null) this.#socket.write(request.text, 'latin1')
    else {
      this.#socketWriter.text(request.text)
      this.#sent = new SentBody(request.body, request.length, {
        socket: this.#socket,
        writer: this.#socketWriter,
        failed: (error) => this.#fail(error),
      })
      if (this.#state === CLOSED) this.#sent.stop()
    }
  }

  #read(chunk: Buffer, end: number): void {
    const request = this.#request
    if (!request) {
      // Unrequested bytes are never a response.
      this.close()
      return
    }
    this.#heard = true
    this.#quiet = 0
    const reader = this.#reader
    const read = reader.scan(chunk, end)
    if (reader.issue) {
      this.#fail(new InvalidResponse(reader.issue.detail))
      return
    }
    try {
      this.#hand(request, chunk, read, end)
    } catch (error) {
      // The connection may already have another request.
      if (this.#request === request) this.#fail(error as Error)
      else request.fail(error as Error)
    }
    if (end >= LARGE_READ_BYTES && !this.#home.turns.spend(1)) this.#yield()
  }

  /** Passes on the data that was read. The receiver may cancel the request. */
  #hand(request: OriginRequest, chunk: Buffer, read: number, end: number): void {
    const { head, body, interim } = this.#reader
    if (interim) for (const { status, fields } of interim) request.interim?.(status, fields)
    if (this.#request !== request) return
    if (head) {
      if (head.status === 101) {
        this.#switch(request, head.fields, chunk.subarray(read, end))
        return
      }
      this.#state = RESPONDING
      this.#allowed = request.timeoutMs ?? this.#home.limits.body_timeout
      if (request.unreadHead) request.unreadHead(head)
      else request.head(head.status, head.fields)
      if (this.#request !== request) return
    }
    if (this.#state === RESPONDING) this.#waited = 0
    const open = body === undefined || request.data(body)
    if (this.#request !== request) return
    if (this.#reader.complete) this.#complete(request, read === end)
    else if (!open) this.#pause()
  }

  #pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  /** Completes the response. `clean` means that nothing follows the response. */
  #complete(request: OriginRequest, clean: boolean): void {
    const { persists, keepAliveMs } = this.#reader
    this.#request = undefined
    request.connection = undefined
    this.resume()
    if (keepAliveMs !== undefined) this.#keepAliveMs = Math.min(this.#keepAliveMs, keepAliveMs - KEEP_ALIVE_MARGIN_MS)
    if (
      persists &&
      clean &&
      request.preamble === undefined &&
      (this.#sent?.done ?? true) &&
      !this.#unsendable &&
      this.#keepAliveMs > 0
    )
      this.#release()
    else this.close()
    request.end()
  }

  #release(): void {
    this.#sent = undefined
    this.#served = true
    this.#state = IDLE
    this.#waited = 0
    this.#allowed = this.#keepAliveMs
    this.#home.released(this, this.#reader.bare)
  }

  /** Gives up ownership of the socket. */
  #switch(request: OriginRequest, fields: readonly string[], early: Buffer): void {
    const socket = this.#socket
    this.#request = undefined
    request.connection = undefined
    this.#state = CLOSED
    socket.off('data', this.#received)
    this.#home.gone(this)
    if (early.length > 0) socket.unshift(early)
    request.switched(101, fields, socket)
  }

  /**
   * Handles an origin that accepts no more data. Its earlier data, such as the reason for rejecting an upload, is still
   * read.
   */
  #unsent(error: Error): void {
    if (!this.#request) {
      this.close()
      return
    }
    this.#sent?.stop()
    this.#unsendable = error
    this.#drainReads(error)
  }

  /** Ends the connection when no data is left to read. All data of the origin has arrived. */
  #drainReads(error: Error): void {
    this.#quiet = 0
    const look = (): void => {
      if (this.#state === CLOSED || this.#paused || this.#yielding) return
      if (this.#quiet++ < QUIET_ROUNDS) setImmediate(look)
      else this.#lost(error.message, { cause: error })
    }
    setImmediate(look)
  }

  /** Handles the end of the origin's data. */
  #ended(): void {
    const request = this.#request
    if (request && this.#reader.untilClose && this.#state === RESPONDING) {
      try {
        this.#complete(request, true)
      } catch (error) {
        request.fail(error as Error)
      }
    } else this.#lost('the origin closed the connection')
  }

  #broken(error: NodeJS.ErrnoException): void {
    if (this.#state === CONNECTING) this.#fail(error)
    else this.#lost(error.message, { cause: error })
  }

  #lost(message: string, options?: ErrorOptions): void {
    this.#fail(new ConnectionLost(message, this.#served && !this.#heard, options))
  }

  /** Ends the connection, and the request on it. */
  #fail(error: Error): void {
    if (this.#state === CLOSED) return
    this.#state = CLOSED
    this.#home.turns.delete(this.#turn)
    const request = this.#request
    this.#request = undefined
    this.#sent?.stop()
    this.#socket.destroy()
    this.#home.gone(this)
    if (!request) return
    request.connection = undefined
    request.fail(error)
  }
}
