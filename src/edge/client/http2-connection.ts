import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { TurnQueue } from '../../core/schedule/turn-queue.js'
import { plainAddress } from '../../expr/index.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { ConnectionEvents, ConnectionLimits, OpenConnection } from './client-stream.js'
import type { HttpParseError } from './framing.js'
import { watchFrameErrors } from './http2-errors.js'
import { readHttp2Head } from './http2-head.js'
import { Http2ClientStream, type StreamOwner } from './http2-stream.js'
import { Http2Probe } from './http2-probe.js'
import { takenBytes, WriteClock } from './write-clock.js'

/** Streams of one connection at a time. */
const MAX_STREAMS = 128
/** Bytes that a client may send on one stream, and on all of a connection, before the first are consumed. */
const STREAM_WINDOW = 128 * 1024
const CONNECTION_WINDOW = 1024 * 1024
/** Megabytes of one session inside `node:http2`. */
const SESSION_MEMORY = 10
const MAX_SETTINGS = 32
const MAX_PINGS = 10
const MAX_INVALID_FRAMES = 100
const MAX_REJECTED_STREAMS = 100
/** PING and SETTINGS frames of one connection in a row, and per second after that. */
const CONTROL_BURST = 500
const CONTROL_PER_SECOND = 20
/** Fields of a head within the limits of `node:http2`: above the ones of the configuration, which get a response. */
const HEADROOM = 2
/** Streams that begin between two looks at the clock. */
const PIECE = 8
/** Time for a client to end its connection after it was asked to. */
const GOODBYE_MS = 2000

/** Dependencies of the HTTP/2 connections of one proxy. */
export interface Http2Deps {
  readonly events: ConnectionEvents
  /** Bounds the requests that begin in one turn of the event loop, in milliseconds. */
  readonly turns: TurnQueue
  monotonic(): number
  /** Counts a request. Returns false if its client has too many in progress. */
  admit(address: string): boolean
  release(address: string): void
  /** Counts a request that the client has cancelled. Returns true if the client cancels too many. */
  cancelled(address: string): boolean
  /** The connection is ended because of the client's behavior. */
  abused(address: string, reason: string): void
}

/** A stream whose head has arrived and that has not begun. */
interface Waiting {
  readonly stream: ServerHttp2Stream
  readonly raw: readonly string[]
}

/** A client's connection with HTTP/2. */
export class Http2Connection implements OpenConnection, StreamOwner {
  readonly socket: Socket
  readonly ends: ConnectionEnds
  readonly secure: SecureConnection
  readonly address: string
  limits: ConnectionLimits
  readonly #deps: Http2Deps
  readonly #session: ServerHttp2Session
  readonly #streams = new Set<Http2ClientStream>()
  #waiting: Waiting[] = []
  /** Time of the end of the last request or, before the first, of the handshake. */
  #idleSince: number
  #served = false
  /** No more requests are accepted, since this time. */
  #closingSince: number | undefined
  readonly #probe: Http2Probe
  #controlFrames = 0
  #controlAt = 0
  /** Undefined while the system accepts everything. */
  #clock: WriteClock | undefined

  constructor(secure: SecureConnection, limits: ConnectionLimits, deps: Http2Deps, ends?: ConnectionEnds) {
    this.secure = secure
    this.socket = secure.socket
    this.ends = ends ?? secure.socket
    this.address = plainAddress(this.ends.remoteAddress ?? '')
    this.limits = limits
    this.#deps = deps
    this.#idleSince = deps.monotonic()
    this.#session = performServerHandshake(secure.socket, {
      settings: {
        maxConcurrentStreams: MAX_STREAMS,
        maxHeaderListSize: limits.header_bytes * HEADROOM,
        initialWindowSize: STREAM_WINDOW,
      },
      maxHeaderListPairs: limits.header_count * HEADROOM,
      maxSessionMemory: SESSION_MEMORY,
      maxSettings: MAX_SETTINGS,
      maxOutstandingPings: MAX_PINGS,
      maxSessionInvalidFrames: MAX_INVALID_FRAMES,
      maxSessionRejectedStreams: MAX_REJECTED_STREAMS,
    })
    this.#probe = new Http2Probe(this.#session, secure)
    this.#session.setLocalWindowSize(CONNECTION_WINDOW)
    this.#session.on(
      'stream',
      (stream: ServerHttp2Stream, _headers: unknown, _flags: unknown, raw: readonly string[]) =>
        this.#arrived(stream, raw),
    )
    this.#session.on('ping', () => this.#controlled())
    this.#session.on('remoteSettings', () => this.#controlled())
    watchFrameErrors(
      this.#session,
      () => this.socket.bytesWritten,
      (isClean) => {
        this.#controlled()
        if (!isClean) this.#probe.suspect(deps.monotonic())
      },
    )
    // A client that ends its side gets nothing more. This is needed because the listener allows half-open connections
    // for HTTP/1.1.
    this.socket.once('end', () => this.cut())
    // The session ends after an error, so nothing else needs to be done.
    this.#session.on('error', () => undefined)
  }

  check(): void {
    const now = this.#deps.monotonic()
    for (const stream of this.#streams) stream.check(now)
    if (this.#session.destroyed) return this.cut()
    if (this.#stalled(now) || this.#probe.isLost(now, this.limits.write_timeout)) return this.cut()
    if (this.#closingSince !== undefined) {
      if (!this.#isBusy && now - this.#closingSince > GOODBYE_MS) this.cut()
      return
    }
    if (this.#isBusy) return
    const { keep_alive_timeout, header_timeout } = this.limits
    const limit = this.#served ? keep_alive_timeout : header_timeout
    if (limit > 0 && now - this.#idleSince > limit) this.endIdle()
  }

  endIdle(): void {
    if (this.#closingSince !== undefined) return
    this.#closingSince = this.#deps.monotonic()
    this.#later(() => this.#session.close())
  }

  get #isBusy(): boolean {
    return this.#streams.size > 0 || this.#waiting.length > 0
  }

  cut(): void {
    this.#later(() => this.#session.destroy())
    // A session that was closed first, for example by a GOAWAY of the client, only ends its side of the socket and waits
    // for the client's end. If that has come already, the socket would stay for ever.
    setImmediate(() => setImmediate(() => this.socket.destroy()))
  }

  refused(stream: Http2ClientStream, issue: HttpParseError): void {
    this.#deps.events.refused(stream, issue)
  }

  closed(stream: Http2ClientStream, reset: boolean): void {
    this.#streams.delete(stream)
    this.#deps.release(this.address)
    this.#idleSince = this.#deps.monotonic()
    if (reset) this.#cancelled()
  }

  /**
   * Ends the session outside of its events. Inside an event, nghttp2 before 1.68.1 can end the whole process. All calls
   * of `close` and `destroy` of a session must pass here.
   */
  #later(end: () => void): void {
    setImmediate(() => {
      if (!this.#session.destroyed) end()
    })
  }

  #arrived(stream: ServerHttp2Stream, raw: readonly string[]): void {
    // An error is followed by the end of the stream.
    stream.on('error', ignored)
    // A client can cancel streams that wait, and open others instead.
    if (this.#waiting.length >= 2 * MAX_STREAMS) this.#waiting = this.#waiting.filter((one) => !this.#isOver(one))
    this.#waiting.push({ stream, raw })
    // Requests that are cancelled in the same read never begin.
    if (this.#waiting.length === 1) setImmediate(this.#begin)
  }

  /** Begins requests that wait. Those beyond the limit of a turn begin in a later one. */
  readonly #begin = (): void => {
    const { turns } = this.#deps
    if (!turns.open) {
      turns.add(this.#begin)
      return
    }
    let since = performance.now()
    let begun = 0
    for (const one of this.#waiting) {
      if (!this.#isOver(one) && !this.#session.destroyed) this.#request(one.stream, one.raw)
      if (++begun % PIECE > 0) continue
      const now = performance.now()
      const mayGoOn = turns.spend(now - since)
      since = now
      if (!mayGoOn) break
    }
    this.#waiting = this.#waiting.slice(begun)
    turns.spend(performance.now() - since)
    if (this.#waiting.length > 0) turns.add(this.#begin)
  }

  /** Returns whether a stream has ended before it began, and counts it. */
  #isOver({ stream }: Waiting): boolean {
    if (!stream.destroyed && !stream.closed) return false
    this.#cancelled()
    return true
  }

  #request(stream: ServerHttp2Stream, raw: readonly string[]): void {
    if (!this.#deps.admit(this.address)) {
      // The client can send such a request again (RFC 9113, 8.7).
      stream.close(constants.NGHTTP2_REFUSED_STREAM)
      return
    }
    const now = this.#deps.monotonic()
    this.#served = true
    const head = readHttp2Head(raw, this.limits)
    const request = new Http2ClientStream(this, stream, { headBytes: 'bytes' in head ? head.bytes : 0, now })
    this.#streams.add(request)
    if ('bytes' in head) this.#deps.events.requested(request, head.request)
    else this.#deps.events.refused(request, head)
  }

  #cancelled(): void {
    if (this.#closingSince !== undefined || this.#session.destroyed) return
    if (this.#deps.cancelled(this.address)) this.#abused('the client cancels too many requests')
  }

  /** Counts a frame that has to be acknowledged. */
  #controlled(): void {
    const now = this.#deps.monotonic()
    this.#controlFrames = Math.max(0, this.#controlFrames - ((now - this.#controlAt) * CONTROL_PER_SECOND) / 1000) + 1
    this.#controlAt = now
    if (this.#controlFrames > CONTROL_BURST && this.#closingSince === undefined)
      this.#abused('the client sends too many PING or SETTINGS frames')
  }

  #abused(reason: string): void {
    this.#closingSince = this.#deps.monotonic()
    this.#deps.abused(this.address, reason)
    this.#later(() => {
      this.#session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
      this.#session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    })
  }

  /** Returns whether the client reads nothing of this connection, or too slowly. */
  #stalled(now: number): boolean {
    const { transport } = this.secure
    const queue = (transport as unknown as { _handle: { writeQueueSize: number } | null })._handle?.writeQueueSize ?? 0
    if (queue === 0) {
      this.#clock = undefined
      return false
    }
    this.#clock ??= new WriteClock(
      {
        get takenBytes() {
          return takenBytes(transport)
        },
      },
      now,
    )
    return this.#clock.isLate(now, this.limits)
  }
}

const ignored = (): void => undefined
