import type { Clock } from '../../core/clock.js'
import type { RawHeaders } from '../../http/headers.js'
import type { HttpVersion } from '../../rules/types.js'

/** Facts about the request that a response depends on. */
export interface Asked {
  readonly method: string
  readonly httpVersion: HttpVersion
  /** The client may send more requests on this connection. */
  readonly keepAlive: boolean
}

/** Values that every head contains besides the response's own fields. */
export interface HeadExtras {
  /** This response is the connection's last. */
  readonly close: boolean
  /** Read if the response has no date. */
  readonly clock: Pick<Clock, 'now'>
  readonly rayId: string
  readonly keepAliveMs: number
}

/** The lines of fields, each after the end of the line before it, and the properties that the framing needs. */
export interface Lines {
  readonly text: string
  readonly isDated: boolean
  readonly length: number | undefined
}

/** Writes responses to a client. */
export interface MessageWriter {
  /** A part of the response has been written, so that another response is no longer possible. */
  readonly begun: boolean
  /** The response is written, though not necessarily sent. */
  readonly ended: boolean
  /** Bytes of the response so far. They include head, body and the framing of chunks. */
  readonly bytes: number
  /** The response has no body. A body that the origin sends nevertheless is discarded. */
  readonly bare: boolean
  /** Begins a response. Throws if a field could split it. The writer itself sets the fields about the connection. */
  head(asked: Asked, status: number, fields: RawHeaders, extras: HeadExtras): void
  /** As `head`, with the lines of safe fields, each after the end of the line before it. Undefined if it takes no lines. */
  headLines?(asked: Asked, status: number, lines: Lines, extras: HeadExtras): void
  /** Returns whether a chunk of this size still fits into the announced length. */
  fits(bytes: number): boolean
  /** Writes a chunk of the body, which may change afterwards. Returns false if the client does not keep up. */
  data(chunk: Buffer): boolean
  /**
   * Ends the response, with fields after a body of unknown length. Returns false if the response is shorter than
   * announced. It must be cut then.
   */
  end(trailers?: RawHeaders): boolean
  /** Resets the state, so that the next response can be written. */
  reset(): void
}

// The text of a second, shared by all responses.
let dated = { second: NaN, text: '' }

/** Returns a time as the Date field has it (RFC 9110, 5.6.7). */
export function httpDate(now: number): string {
  const second = Math.floor(now / 1000)
  if (second !== dated.second) dated = { second, text: new Date(now).toUTCString() }
  return dated.text
}
