import type { Socket } from 'node:net'
import type { RawHeaders } from '../../http/headers.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { ErrorFacts } from '../exchange/error-page.js'
import type { FramingLimits, HttpParseError, RequestHead } from './framing.js'
import type { MessageWriter } from './message-writer.js'

/*
 * The interface of a client that the exchange needs. It is the same for both protocols: a connection of HTTP/1.1, which
 * carries requests sequentially, or one stream of HTTP/2.
 */

/** The source of a body, as far as it can be paused. */
export interface BodySource {
  /** Pauses the rest of the body. Has no effect for a finished one. */
  pauseBody(reader: BodyReader): void
  resumeBody(reader: BodyReader): void
}

/** Receives the body of a request. */
export interface BodyReader {
  receive(chunk: Buffer): void
  finish(): void
  /** The body is cut short and no more bytes will arrive. */
  lost(): void
  /** Discards the body, unless it is being read. */
  abandon(): void
  /** Returns whether it arrives slower than `rate` bytes per second. Must be called about once per second. */
  tooSlow(now: number, rate: number): boolean
}

/** The current request, as far as its connection depends on it. */
export interface Responding {
  readonly rayId: string
  /** Nothing more will be written. */
  readonly written: boolean
  /** Ends a response that the client reads too slowly. Must be called about once per second. */
  check(now: number): void
  /** The client sent invalid data. */
  faulted(issue: HttpParseError): void
  /** The response has been sent to the client. `last` is true if it is the connection's last response. */
  delivered(last: boolean): void
  /** The connection is closed. */
  left(): void
}

/** Facts for the error page of a request that is not served. */
export interface Refusal extends Pick<ErrorFacts, 'rayId' | 'at' | 'zone'> {
  readonly accept?: string | undefined
  /** The request was HEAD. */
  readonly head?: boolean
}

/** One request's connection to its client. */
export interface ClientStream extends BodySource {
  /** The client's socket. HTTP/2 streams share it. */
  readonly socket: Socket
  /** Addresses of the socket, or the addresses that a load balancer reports (PROXY protocol). */
  readonly ends: ConnectionEnds
  /** The remote port of {@link ends}. */
  readonly port: number | undefined
  /** TLS facts of the connection. Undefined if it is not encrypted. */
  readonly secure: SecureConnection | undefined
  /** The remote address of {@link ends}. Empty if the peer left before it was read. */
  readonly address: string
  readonly writer: MessageWriter
  /** The request has a body. Known after its head. */
  readonly hasBody: boolean
  /** Bytes of the request so far, without chunk framing. */
  readonly receivedBytes: number
  /** An ordinary response is possible now: it does not end the connection of other requests. */
  readonly reusable: boolean
  responding: Responding | undefined
  /** Receives the body of the current request. Without a reader the body is discarded. */
  body: BodyReader | undefined
  /** Bytes of responses that the client has not read, as far as they are known. */
  readonly unsentBytes: number
  /** Bytes that have left this process. Grows if the client reads. */
  readonly takenBytes: number
  /** Calls the function once when the client has read everything that was written. */
  onDrain(listener: () => void): void
  /** Sends an interim response (RFC 9110, 15.2). Must be called before the response has begun. */
  interim(status: number, fields: RawHeaders): void
  /** Continues with the next request. The current one must be complete. */
  next(): void
  /** Ends the connection after its last response. */
  end(): void
  /** Stops reading from the client. */
  finish(): void
  /** Ends the response immediately, so that the client cannot mistake the beginning for the whole response. */
  cut(): void
  /** Responds with an error page, stops reading the request and ends it. Returns the bytes that `writer` did not count. */
  reject(issue: HttpParseError, refusal: Refusal): number
  /** Passes all bytes from now on to `receive`. Undefined if the protocol cannot switch to another one. */
  tunnel?(receive: (chunk: Buffer) => void): void
}

/** Limits of a connection. Times are in milliseconds. The value 0 means no limit. */
export interface ConnectionLimits extends FramingLimits {
  readonly header_timeout: number
  readonly request_timeout: number
  readonly keep_alive_timeout: number
  readonly write_timeout: number
  /** Bytes per second. */
  readonly min_rate: number
}

/** An open connection of a client, of either protocol. */
export interface OpenConnection {
  readonly address: string
  /** Applies the limits of a new configuration. */
  limits: ConnectionLimits
  /** Ends requests that take too long, and connections that are idle for too long. Must be called about once per second. */
  check(): void
  /** Ends the connection when no request is in progress on it. */
  endIdle(): void
  /** Ends the connection, with all its requests. */
  cut(): void
}

/** Events of connections. */
export interface ConnectionEvents {
  /** A request has arrived, at least its head. Bytes that follow are its body. */
  requested(stream: ClientStream, head: RequestHead): void
  /** The received bytes are not a valid request, or it took too long. Nothing more is read. */
  refused(stream: ClientStream, issue: HttpParseError): void
}
