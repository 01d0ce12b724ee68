import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { messageOf } from '../../core/errors.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import type { SecureConnection } from '../../tls/terminator.js'
import { errorPage } from '../exchange/error-page.js'
import type { BodyReader, ClientStream, ConnectionLimits, Refusal, Responding } from './client-stream.js'
import type { HttpParseError } from './framing.js'
import { Http2Writer, responseHeaders } from './http2-writer.js'

/** The reason of a stream that is reset. The client gets INTERNAL_ERROR. */
const BROKEN_OFF = new Error('the response breaks off')

/** The connection of a stream. */
export interface StreamOwner {
  readonly socket: Socket
  readonly ends: ConnectionEnds
  readonly secure: SecureConnection
  readonly address: string
  readonly limits: ConnectionLimits
  /** Rejects a request that has arrived partly. */
  refused(stream: Http2ClientStream, issue: HttpParseError): void
  /**
   * The stream is closed. `reset` is true if the client reset it, or was the cause of the reset, before the response
   * was complete.
   */
  closed(stream: Http2ClientStream, reset: boolean): void
}

/** One request on an HTTP/2 connection. */
export class Http2ClientStream implements ClientStream {
  readonly writer: Http2Writer
  readonly hasBody: boolean
  /** A response may end before its request. The rest of the request is then discarded with the stream. */
  readonly reusable = true
  receivedBytes: number
  responding: Responding | undefined
  body: BodyReader | undefined
  readonly #owner: StreamOwner
  readonly #stream: ServerHttp2Stream
  readonly #since: number
  /** Bytes of the body so far. */
  #bodyBytes = 0
  /** The whole request has arrived. */
  #received: boolean
  /** No more of the body is wanted. */
  #done = false
  /** This side ended the stream, after its response or without one. */
  #ended = false

  constructor(owner: StreamOwner, stream: ServerHttp2Stream, { headBytes, now }: { headBytes: number; now: number }) {
    this.#owner = owner
    this.#stream = stream
    this.#since = now
    this.receivedBytes = headBytes
    this.hasBody = !stream.endAfterHeaders
    this.#received = !this.hasBody
    this.writer = new Http2Writer(stream, () => {
      if (this.responding) this.responding.delivered(false)
      else this.next()
    })
    if (this.hasBody) {
      stream.on('data', (chunk: Buffer) => this.#arrived(chunk))
      stream.on('end', () => this.#complete())
    }
    stream.on('close', () => this.#closed())
  }

  get socket(): Socket {
    return this.#owner.socket
  }

  get ends(): ConnectionEnds {
    return this.#owner.ends
  }

  get secure(): SecureConnection {
    return this.#owner.secure
  }

  get port(): number | undefined {
    return this.#owner.ends.remotePort
  }

  get address(): string {
    return this.#owner.address
  }

  get unsentBytes(): number {
    return this.#stream.writableLength
  }

  /** Grows with each chunk that was sent as a whole, at most 64 KiB. */
  get takenBytes(): number {
    return this.writer.bytes - this.#stream.writableLength
  }

  onDrain(listener: () => void): void {
    this.#stream.once('drain', listener)
  }

  interim(status: number, fields: RawHeaders): void {
    const { destroyed, closed } = this.#stream
    if (!destroyed && !closed && !this.writer.begun)
      this.#stream.additionalHeaders(responseHeaders(status, fields).headers)
  }

  next(): void {
    this.#ended = true
    this.finish()
    // The response is complete, so that the client need not send the rest (RFC 9113, 8.1).
    if (!this.#received && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  end(): void {
    this.next()
  }

  finish(): void {
    this.#done = true
    if (!this.#received) this.#stream.resume()
  }

  cut(): void {
    this.#ended = true
    // `close` would first send the end of the stream, as if the response were complete.
    this.#stream.destroy(BROKEN_OFF)
  }

  reject(issue: HttpParseError, { accept, head = false, ...facts }: Refusal): number {
    this.finish()
    const { headers, body } = errorPage(accept, { ...issue, ...facts })
    const fields = Object.entries({ ...headers, ...issue.headers }).flat()
    const asked = { method: head ? 'HEAD' : 'GET', httpVersion: '2', keepAlive: true } as const
    this.writer.head(asked, issue.status, fields, {
      close: false,
      clock: { now: () => facts.at },
      rayId: facts.rayId,
      keepAliveMs: 0,
    })
    this.writer.data(body)
    this.writer.end()
    return 0
  }

  pauseBody(reader: BodyReader): void {
    if (this.body === reader && !this.#received && !this.#done) this.#stream.pause()
  }

  resumeBody(reader: BodyReader): void {
    if (this.body === reader && !this.#received) this.#stream.resume()
  }

  /** Ends a request that takes too long. Must be called about once per second. */
  check(now: number): void {
    this.responding?.check(now)
    if (this.#received || this.#done) return
    const { request_timeout, min_rate } = this.#owner.limits
    if (request_timeout > 0 && now - this.#since > request_timeout) this.#reject({ status: 408 })
    else if (this.body?.tooSlow(now, min_rate))
      this.#reject({ status: 408, detail: 'the body of the request arrives too slowly' })
  }

  #arrived(chunk: Buffer): void {
    this.receivedBytes += chunk.length
    this.#bodyBytes += chunk.length
    if (this.#done) return
    const limit = this.#owner.limits.body_bytes
    if (limit > 0 && this.#bodyBytes > limit)
      this.#reject({ status: 413, detail: `the request body is larger than ${limit} bytes` })
    else this.body?.receive(chunk)
  }

  #complete(): void {
    // A stream that was reset ends too.
    if (this.#stream.aborted) return
    this.#received = true
    if (!this.#done) this.body?.finish()
  }

  #reject(issue: HttpParseError): void {
    this.finish()
    try {
      this.#owner.refused(this, issue)
    } catch (error) {
      this.#stream.destroy(new Error(messageOf(error)))
    }
  }

  #closed(): void {
    const reset = !this.#ended
    this.responding?.left()
    if (!this.#received) this.body?.lost()
    this.#owner.closed(this, reset)
  }
}
