import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { BlockPool } from '../../core/memory/block-pool.js'
import { UNSAFE_NAME, UNSAFE_VALUE } from '../../http/framing-fields.js'
import type { RawHeaders } from '../../http/headers.js'
import { NameTable } from '../../http/name-table.js'
import { takesLists } from './http2-support.js'
import { httpDate, type Asked, type HeadExtras, type MessageWriter } from './message-writer.js'

/** Bytes that wait in a stream before its source has to wait. */
const HIGH_WATER = 65_536

/** Fields about a connection, which HTTP/2 does not have (RFC 9113, 8.2.2). */
const CONNECTION_FIELDS = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** Memory for the last chunks of responses. Most last chunks are small. At most one megabyte is retained. */
const BLOCKS = new BlockPool(16_384, 64)
/** Smaller chunks do not take a block, because clients that do not read could make the proxy retain many blocks. */
const MIN_BLOCK_USE = 4096

const TRAILERS_FOLLOW = { waitForTrailers: true }

/** Writes the response of one HTTP/2 stream (RFC 9113, 8.1). */
export class Http2Writer implements MessageWriter {
  begun = false
  ended = false
  bytes = 0
  bare = false
  readonly #stream: ServerHttp2Stream
  readonly #delivered: () => void
  /** Bytes of the body that the length announced and that have not arrived. Undefined if no length is announced. */
  #remaining: number | undefined

  /** Memory of the last chunk until it was sent. */
  #block: Buffer | undefined
  #trailers: RawHeaders = []

  /** `delivered` is called when the whole response has been sent. */
  constructor(stream: ServerHttp2Stream, delivered: () => void) {
    this.#stream = stream
    this.#delivered = delivered
  }

  head({ method }: Asked, status: number, fields: RawHeaders, { clock, rayId }: HeadExtras): void {
    const { headers, bytes, length, isDated, hasTrailer } = listOf(status, fields) ?? responseHeaders(status, fields)
    add(headers, 'cf-ray', rayId)
    if (!isDated) add(headers, 'date', httpDate(clock.now()))
    this.bare = method === 'HEAD' || status === 204 || status === 205 || status === 304
    this.#remaining = length
    if (!this.#stream.destroyed) this.#respond(headers, hasTrailer && !this.bare)
    this.bytes += bytes
    this.begun = true
  }

  fits(bytes: number): boolean {
    return this.#remaining === undefined || bytes <= this.#remaining
  }

  data(chunk: Buffer): boolean {
    const stream = this.#stream
    if (this.bare || chunk.length === 0 || stream.destroyed) return true
    this.bytes += chunk.length
    // The stream uses the bytes after `write` has returned.
    if (this.#remaining !== undefined) {
      this.#remaining -= chunk.length
      // The last frame of the body ends the stream too.
      if (this.#remaining === 0) {
        stream.end(this.#lastCopy(chunk), this.#settle)
        return true
      }
    }
    return stream.write(Buffer.from(chunk)) || stream.writableLength < HIGH_WATER
  }

  end(trailers: RawHeaders = []): boolean {
    this.#trailers = trailers
    if (!this.bare && this.#remaining !== undefined && this.#remaining > 0) return false
    this.ended = true
    const stream = this.#stream
    if (stream.writableFinished) this.#delivered()
    else if (!stream.writableEnded) stream.end(this.#settle)
    else if (this.bare) stream.once('finish', this.#settle)
    return true
  }

  /** Copies the last chunk, if possible into a block that is free again when the response was sent. */
  #lastCopy(chunk: Buffer): Buffer {
    if (chunk.length < MIN_BLOCK_USE || chunk.length > BLOCKS.bytes) return Buffer.from(chunk)
    const block = BLOCKS.take()
    this.#block = block
    block.set(chunk)
    return block.subarray(0, chunk.length)
  }

  /** Trailers have to be announced before the body (RFC 9110, 6.6.2). */
  #respond(headers: OutgoingHttpHeaders | string[], waitForTrailers: boolean): void {
    const stream = this.#stream
    if (waitForTrailers) stream.once('wantTrailers', () => stream.sendTrailers(trailersOf(this.#trailers)))
    // The types do not know of lists.
    stream.respond(headers as OutgoingHttpHeaders, waitForTrailers ? TRAILERS_FOLLOW : undefined)
  }

  reset(): void {
    // A stream has one response.
  }

  /** Called when the last byte was sent, or when the stream was closed before. */
  readonly #settle = (error?: Error | null): void => {
    // The bytes of a stream that ended earlier may still be queued.
    if (this.#block && !error && !this.#stream.destroyed) BLOCKS.give(this.#block)
    this.#block = undefined
    if (!error && this.ended) this.#delivered()
  }
}

function trailersOf(fields: RawHeaders): OutgoingHttpHeaders {
  const trailers: OutgoingHttpHeaders = {}
  for (let i = 0; i + 1 < fields.length; i += 2) trailers[fields[i]!.toLowerCase()] = fields[i + 1]!
  return trailers
}

/** Fields of a response as `node:http2` wants them, and the properties that the writer needs. */
interface Head<T> {
  readonly headers: T
  readonly bytes: number
  readonly length: number | undefined
  readonly isDated: boolean
  readonly hasTrailer: boolean
}

function add(headers: OutgoingHttpHeaders | string[], name: string, value: string): void {
  if (Array.isArray(headers)) headers.push(name, value)
  else headers[name] = value
}

/** Returns the fields as an object, in which fields that occur twice are combined. Throws if one is not safe. */
export function responseHeaders(status: number, fields: RawHeaders): Head<OutgoingHttpHeaders> {
  const headers: OutgoingHttpHeaders = { [constants.HTTP2_HEADER_STATUS]: status }
  let bytes = 0
  let length: number | undefined
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = NAMES.get(fields[i]!)
    const value = fields[i + 1]!
    if (name === '') continue
    if (name === 'content-length') {
      if (status === 205) continue
      length = Number(value)
    }
    if (UNSAFE_VALUE.test(value)) throw unsafeField()
    bytes += name.length + value.length
    const present = headers[name]
    if (present === undefined) headers[name] = name === 'set-cookie' ? [value] : value
    else if (Array.isArray(present)) present.push(value)
    // Other fields may be combined (RFC 9110, 5.3), and Node rejects some fields that occur twice.
    else headers[name] = `${String(present)}, ${value}`
  }
  const isDated = headers['date'] !== undefined
  return { headers, bytes, length, isDated, hasTrailer: headers['trailer'] !== undefined }
}

/** Returns the fields as a list, undefined if Node wants an object, one occurs twice or they are many. Throws if one is not safe. */
function listOf(status: number, fields: RawHeaders): Head<string[]> | undefined {
  if (!takesLists || fields.length > MAX_LISTED) return undefined
  const headers = [constants.HTTP2_HEADER_STATUS, String(status)]
  let bytes = 0
  let length: number | undefined
  let isDated = false
  let hasTrailer = false
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = NAMES.get(fields[i]!)
    const value = fields[i + 1]!
    if (name === '') continue
    if (name === 'content-length') {
      if (status === 205) continue
      length = Number(value)
    }
    if (name === 'date') isDated = true
    if (name === 'trailer') hasTrailer = true
    if (UNSAFE_VALUE.test(value)) throw unsafeField()
    if (name !== 'set-cookie' && holdsName(headers, name)) return undefined
    bytes += name.length + value.length
    headers.push(name, value)
  }
  return { headers, bytes, length, isDated, hasTrailer }
}

/** Names and values of fields that are compared with each other. */
const MAX_LISTED = 128

function holdsName(headers: readonly string[], name: string): boolean {
  for (let i = 2; i < headers.length; i += 2) if (headers[i] === name) return true
  return false
}

const unsafeField = (): TypeError => new TypeError('a field of the response is not safe')

/** Names of fields in lower case. A name is empty if HTTP/2 does not have the field. */
const NAMES = new NameTable((name) => {
  if (UNSAFE_NAME.test(name)) throw unsafeField()
  const lower = name.toLowerCase()
  return CONNECTION_FIELDS.has(lower) ? '' : lower
})
