import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { framingKind, UNSAFE_NAME, UNSAFE_VALUE } from '../../http/framing-fields.js'
import { SocketWriter } from '../../http/socket-writer.js'
import type { RawHeaders } from '../../http/headers.js'
import { NameTable } from '../../http/name-table.js'
import { httpDate, type Asked, type HeadExtras, type Lines, type MessageWriter } from './message-writer.js'

// How the end of the body is marked (RFC 9112, 6.3).
const NONE = 0
const LENGTH = 1
const CHUNKED = 2
const CLOSE = 3

/** Never with a body, though recipients do not know that from the status alone (RFC 9110, 15.3.6). */
const RESET_CONTENT = 205

const CRLF_BYTES = 2
const LAST_CHUNK = '0\r\n'

/** Writes responses to a connection, sequentially, in the form of RFC 9112. */
export class ResponseWriter implements MessageWriter {
  begun = false
  ended = false
  bytes = 0
  readonly #socketWriter: SocketWriter
  readonly #delivered: (last: boolean) => void
  #framing = NONE
  /** Bytes of the body that the length announced and that have not arrived. */
  #left = 0
  #last = false

  /**
   * `delivered` is called when the system has accepted the whole response. `last` is true if no other response may
   * follow.
   */
  constructor(socket: Socket, delivered: (last: boolean) => void) {
    this.#socketWriter = new SocketWriter(socket)
    this.#delivered = delivered
  }

  head(asked: Asked, status: number, fields: RawHeaders, extras: HeadExtras): void {
    this.headLines(asked, status, status === RESET_CONTENT ? render(fields, true) : linesOf(fields), extras)
  }

  headLines(asked: Asked, status: number, { text, isDated, length }: Lines, extras: HeadExtras): void {
    this.ended = false
    this.#frame(asked, status, length, extras.close)
    const end = this.#last ? '\r\nconnection: close' : keepAliveLines(extras.keepAliveMs)
    // Each line begins with the end of the line before it.
    let head = `${statusLine(status)}${text}\r\ncf-ray: ${extras.rayId}`
    if (!isDated) head += `\r\ndate: ${httpDate(extras.clock.now())}`
    head += end
    if (this.#framing === CHUNKED) head += '\r\ntransfer-encoding: chunked'
    if (status === RESET_CONTENT) head += '\r\ncontent-length: 0'
    head += '\r\n\r\n'
    this.#socketWriter.text(head)
    this.bytes += head.length
    this.begun = true
  }

  get bare(): boolean {
    return this.#framing === NONE
  }

  /** Only the end of the connection marks the end of the response. */
  get endsWithConnection(): boolean {
    return this.begun && this.#framing === CLOSE
  }

  fits(bytes: number): boolean {
    return this.#framing !== LENGTH || bytes <= this.#left
  }

  data(chunk: Buffer): boolean {
    if (this.#framing === NONE || chunk.length === 0) return true
    const socketWriter = this.#socketWriter
    this.bytes += chunk.length
    if (this.#framing === CHUNKED) {
      const size = `${chunk.length.toString(16)}\r\n`
      this.bytes += size.length + CRLF_BYTES
      socketWriter.text(size)
      socketWriter.bytes(chunk)
      socketWriter.text('\r\n')
    } else {
      this.#left -= chunk.length
      socketWriter.bytes(chunk)
    }
    return socketWriter.open
  }

  end(trailers: RawHeaders = []): boolean {
    if (this.#framing === LENGTH && this.#left > 0) return false
    if (this.#framing === CHUNKED) {
      let text = LAST_CHUNK
      for (let i = 0; i + 1 < trailers.length; i += 2) text += `${trailers[i]!}: ${trailers[i + 1]!}\r\n`
      text += '\r\n'
      this.#socketWriter.text(text)
      this.bytes += text.length
    }
    this.ended = true
    this.#socketWriter.end(() => this.#delivered(this.#last))
    return true
  }

  /** Holds written data until {@link release} or the end of the response. A response that ends before needs no other turn. */
  hold(): void {
    this.#socketWriter.hold()
  }

  release(): void {
    this.#socketWriter.release()
  }

  reset(): void {
    this.begun = false
    this.ended = false
    this.bytes = 0
  }

  #frame({ method, httpVersion, keepAlive }: Asked, status: number, length: number | undefined, close: boolean): void {
    this.#left = length ?? 0
    if (method === 'HEAD' || status === 204 || status === RESET_CONTENT || status === 304) this.#framing = NONE
    else if (length !== undefined) this.#framing = LENGTH
    else this.#framing = httpVersion === '1.0' ? CLOSE : CHUNKED
    this.#last = close || !keepAlive || this.#framing === CLOSE
  }
}

const rendered = new WeakMap<RawHeaders, Lines>()

/** Returns the lines of fields. An array that cannot change, as hits of the cache have it, is rendered once. */
function linesOf(fields: RawHeaders): Lines {
  const known = rendered.get(fields)
  if (known) return known
  const lines = render(fields, false)
  if (Object.isFrozen(fields)) rendered.set(fields, lines)
  return lines
}

function render(fields: RawHeaders, withoutLength: boolean): Lines {
  let text = ''
  let isDated = false
  let length: number | undefined
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const value = fields[i + 1]!
    const { kind, label } = KINDS.get(fields[i]!)
    if (kind === 'connection') continue
    if (kind === 'date') isDated = true
    else if (kind === 'length') {
      if (withoutLength) continue
      length = Number(value)
    }
    if (UNSAFE_VALUE.test(value)) throw unsafeField()
    // Two joined strings for each field: allocations of heads are a large part of all.
    text = text + label + value
  }
  return { text, isDated, length }
}

const unsafeField = (): TypeError => new TypeError('a field of the response is not safe')

/** A name of fields in responses with its kind and the beginning of its line. */
interface FieldName {
  readonly kind: 'connection' | 'date' | 'length' | 'other'
  readonly label: string
}

const KINDS = new NameTable((name): FieldName => {
  if (UNSAFE_NAME.test(name)) throw unsafeField()
  const kind = name.toLowerCase() === 'date' ? 'date' : (framingKind(name) ?? 'other')
  return { kind, label: `\r\n${name}: ` }
})

const STATUS_LINES = new Map(
  Object.entries(STATUS_CODES).map(([status, reason]) => [Number(status), `HTTP/1.1 ${status} ${reason}`]),
)
const statusLine = (status: number): string => STATUS_LINES.get(status) ?? `HTTP/1.1 ${status} `

const keepAliveText = (ms: number): string =>
  `\r\nconnection: keep-alive\r\nkeep-alive: timeout=${Math.floor(ms / 1000)}`

// The text of the timeout that is configured.
let kept = { ms: NaN, text: '' }

function keepAliveLines(ms: number): string {
  if (ms !== kept.ms) kept = { ms, text: keepAliveText(ms) }
  return kept.text
}
