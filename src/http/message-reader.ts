import { COLON, CR, hexDigit, IN_TOKEN, IN_VALUE, KINDS, LF, SEMICOLON, trimmed } from '../core/bytes.js'

/*
 * Reads the bytes of a connection that speaks HTTP/1.1. Most parsers are lenient. A proxy must not be, because bytes
 * that two parsers may read differently can hide one message in another. Everything outside the grammar of RFC 9112 is
 * rejected here, and a message is read only up to its last byte.
 *
 * Two subclasses parse the first line, one for requests and one for responses.
 */

/** The reason for rejecting a message, as a sentence, and the status if a response is sent. */
export interface HttpParseError {
  readonly status: number
  readonly detail: string
}

/** Limits of a message. */
export interface MessageLimits {
  readonly header_bytes: number
  readonly header_count: number
  /** 0 for no limit. */
  readonly body_bytes: number
}

// States with the position of the next byte in a message. States below FIELD belong to the first line.
export const START = 0
const FIELD = 16
const NAME = 17
const VALUE = 18
/** After the carriage return of a line. Fields follow. */
export const LINE_LF = 19
const END_LF = 20
const BODY = 21
const UNTIL_CLOSE = 22
const SIZE = 23
const EXTENSION = 24
const SIZE_LF = 25
const DATA = 26
const DATA_CR = 27
const DATA_LF = 28
const COMPLETE = 29
const REFUSED = 30

const NO_LINE_FEED = 'a carriage return is not followed by a line feed'
const LENGTH = Buffer.from('content-length')
const CODING = Buffer.from('transfer-encoding')

/** Maximum length of a value that frames the body. */
const MAX_FRAMING_VALUE = 64
/** Maximum bytes of chunk extensions in one message. Only attacks use them. */
const MAX_EXTENSIONS = 4096
const MAX_SIZE_DIGITS = 16
const MAX_LENGTH = 2 ** 48

/** The framing of one connection's messages. */
export abstract class MessageReader<Limits extends MessageLimits = MessageLimits> {
  /** Set once, when no more messages are read from the connection. */
  issue: HttpParseError | undefined
  limits: Limits
  /** The body bytes of the last scan, without chunk framing. A part of the scanned chunk. */
  body: Buffer | undefined
  protected state = START
  /** HTTP/1.0 or HTTP/1.1. */
  protected minor = 0
  /** Position in a word that is being compared, or the length of one that is being measured. */
  protected at = 0
  /** Offset from a position in the chunk to the position in the head's text. */
  protected shift = 0
  /** Positions in the head where its parts begin and end (see {@link fieldsOf}). */
  protected readonly marks: number[] = []
  protected marked = 0
  protected length: string | undefined
  protected coding: string | undefined
  /** Name of the message type in error messages. */
  readonly #what: string
  /** Bytes of the head (and of trailers) so far. */
  #headBytes = 0
  #fields = 0
  #text = ''
  /** The name that the field's name may still match. */
  #word: Buffer | undefined
  #value = ''
  #trailers = false
  #left = 0
  #bodyBytes = 0
  /** Bytes of the body so far. */
  #taken = 0
  #extensions = 0
  #bodyFrom = -1
  #bodyTo = 0
  /** Position in the chunk of the first byte of a head or trailers that is not in the text yet; -1 outside of both. */
  #headFrom = -1

  constructor(what: string, limits: Limits) {
    this.#what = what
    this.limits = limits
  }

  /** Reads bytes of the first line, up to its carriage return. Returns how many have been read. See {@link reject}. */
  protected abstract firstLine(chunk: Buffer, from: number, end: number): number

  /** Called after the head. Calls {@link bodyFollows}, or one of its variants. */
  protected abstract headRead(text: string): void

  /** Returns whether the last byte of a message was read, and {@link next} was not called since. */
  get complete(): boolean {
    return this.state === COMPLETE
  }

  /** Returns whether the head of a message is being read. */
  get inHead(): boolean {
    return this.state < BODY && !this.#trailers
  }

  /** Returns whether no byte of the next message has arrived. */
  get idle(): boolean {
    return this.state === START && this.at === 0
  }

  /** Returns whether the body ends with the connection. */
  get untilClose(): boolean {
    return this.state === UNTIL_CLOSE
  }

  /** Bytes of the message so far, with head and body but without chunk framing. */
  get messageBytes(): number {
    return this.#headBytes + this.#taken
  }

  /** Prepares for the next message. */
  next(): void {
    this.nextHead()
    this.#headBytes = 0
    this.#bodyBytes = 0
    this.#taken = 0
    this.#extensions = 0
  }

  /** Prepares for a head that follows another head. The limits apply to both together. */
  protected nextHead(): void {
    this.state = START
    this.at = 0
    this.marked = 0
    this.length = undefined
    this.coding = undefined
    this.#fields = 0
    this.#text = ''
    this.#trailers = false
  }

  /**
   * Reads the first `end` bytes of a chunk up to the end of the message. Returns how many were read. See {@link issue}.
   * Body bytes of the chunk may be moved within it.
   */
  scan(chunk: Buffer, end = chunk.length): number {
    this.#bodyFrom = -1
    const read = this.#scan(chunk, end)
    this.body = this.#bodyFrom < 0 ? undefined : chunk.subarray(this.#bodyFrom, this.#bodyTo)
    return read
  }

  #scan(chunk: Buffer, end: number): number {
    this.#headFrom = this.state < BODY || this.#trailers ? 0 : -1
    this.shift = this.#text.length
    let i = 0
    while (i < end && this.state < COMPLETE) {
      if (this.state < FIELD) i = this.firstLine(chunk, i, end)
      else if (this.state < BODY) i = this.#readFields(chunk, i, end)
      else if (this.state < SIZE) i = this.#readBody(chunk, i, end)
      else i = this.#readChunks(chunk, i, end)
    }
    if (this.state >= COMPLETE) return i
    const from = this.#headFrom
    if (from >= 0 && this.#headFits(end - from) && !this.#trailers) this.#text += chunk.toString('latin1', from, end)
    return end
  }

  /** Reads header fields or trailers, up to the empty line after them. */
  #readFields(chunk: Buffer, from: number, end: number): number {
    let i = from
    while (i < end) {
      switch (this.state) {
        case FIELD: {
          const byte = chunk[i]!
          if (byte === CR) {
            this.state = END_LF
            i++
          } else if (!this.#beginField(byte, i)) return i
          break
        }
        case NAME:
          i = this.#readName(chunk, i, end)
          break
        case VALUE:
          i = this.#readValue(chunk, i, end)
          break
        case LINE_LF:
          if (chunk[i++] !== LF) return this.reject(NO_LINE_FEED)
          this.state = FIELD
          break
        case END_LF:
          if (chunk[i++] !== LF) return this.reject(NO_LINE_FEED)
          this.#endFields(chunk, i)
          return i
        default:
          return i
      }
    }
    return i
  }

  #beginField(letter: number, at: number): boolean {
    if (!(KINDS[letter]! & IN_TOKEN)) return this.fails('a header field does not begin with its name')
    if (++this.#fields > this.limits.header_count)
      return this.fails(`the ${this.#what} has too many header fields`, 431)
    this.state = NAME
    this.#mark(at)
    this.at = 0
    const small = letter | 32
    this.#word = small === 99 ? LENGTH : small === 116 ? CODING : undefined
    return true
  }

  /** Reads the rest of a name and its colon. */
  #readName(chunk: Buffer, from: number, end: number): number {
    let i = from
    const before = this.at - i
    let word = this.#word
    for (; i < end && KINDS[chunk[i]!]! & IN_TOKEN; i++) {
      // Of all token characters only the two cases of a letter become that letter.
      if (word && (chunk[i]! | 32) !== word[before + i]) word = undefined
    }
    this.at = before + i
    this.#word = word
    if (i === end) return end
    if (chunk[i] !== COLON) return this.reject('a header name has a character that is not allowed')
    if (word && this.at !== word.length) this.#word = undefined
    this.state = VALUE
    this.#mark(i)
    this.#value = ''
    return i + 1
  }

  /** Reads the rest of a value and its carriage return. Only values that frame the body are retained. */
  #readValue(chunk: Buffer, from: number, end: number): number {
    let i = from
    while (i < end && KINDS[chunk[i]!]! & IN_VALUE) i++
    if (this.#word) {
      if (this.#value.length + i - from > MAX_FRAMING_VALUE) return this.reject('the body has no clear length')
      this.#value += chunk.toString('latin1', from, i)
    }
    if (i === end) return end
    if (chunk[i] !== CR) return this.reject('a header value has a control character')
    if (this.#word && !this.#framed(this.#word)) return i
    this.state = LINE_LF
    this.#mark(i)
    return i + 1
  }

  /** Ends the head or the trailers, whose last byte is before `end`. */
  #endFields(chunk: Buffer, end: number): void {
    const from = this.#headFrom
    if (!this.#headFits(end - from)) return
    if (this.#trailers) this.state = COMPLETE
    else this.headRead(this.#text + chunk.toString('latin1', from, end))
    this.#text = ''
    // Another head may follow this one.
    this.#headFrom = this.state < BODY ? end : -1
    this.shift = -end
  }

  /** Reads bytes of a body without framing. */
  #readBody(chunk: Buffer, from: number, end: number): number {
    if (this.state === UNTIL_CLOSE) {
      this.#take(chunk, from, end)
      return end
    }
    const i = this.#takeCounted(chunk, from, end)
    if (this.#left === 0) this.state = COMPLETE
    return i
  }

  /** Reads the chunks of a chunked body and their sizes, up to the trailers. */
  #readChunks(chunk: Buffer, from: number, end: number): number {
    let i = from
    while (i < end) {
      switch (this.state) {
        case SIZE:
          if (!this.#readSize(chunk[i++]!)) return i
          break
        case EXTENSION: {
          const byte = chunk[i++]!
          if (byte === CR) this.state = SIZE_LF
          else if (!(KINDS[byte]! & IN_VALUE)) return this.reject('a chunk extension has a control character')
          else if (++this.#extensions > MAX_EXTENSIONS) return this.reject('the chunk extensions are too long', 413)
          break
        }
        case SIZE_LF:
          if (chunk[i++] !== LF) return this.reject(NO_LINE_FEED)
          this.#endSize(i)
          break
        case DATA:
          i = this.#takeCounted(chunk, i, end)
          if (this.#left === 0) this.state = DATA_CR
          break
        case DATA_CR:
          if (chunk[i++] !== CR) return this.reject('a chunk is longer than its size')
          this.state = DATA_LF
          break
        case DATA_LF:
          if (chunk[i++] !== LF) return this.reject(NO_LINE_FEED)
          this.state = SIZE
          this.at = 0
          this.#left = 0
          break
        default:
          return i
      }
    }
    return i
  }

  /** Reads one byte of a chunk size, or the byte that ends it. */
  #readSize(byte: number): boolean {
    const digit = hexDigit(byte)
    if (digit >= 0) {
      if (++this.at > MAX_SIZE_DIGITS) return this.fails('a chunk size is too large', 413)
      this.#left = this.#left * 16 + digit
    } else if (this.at === 0) return this.fails('a chunk has no proper size')
    else if (byte === CR) this.state = SIZE_LF
    else if (byte === SEMICOLON) this.state = EXTENSION
    else return this.fails('a chunk has no proper size')
    return true
  }

  /** Begins a chunk, or the trailers after the last chunk. `next` is the position of their first byte. */
  #endSize(next: number): void {
    if (this.#left === 0) {
      this.#trailers = true
      this.#headFrom = next
      this.state = FIELD
      return
    }
    this.#bodyBytes += this.#left
    if (this.#bodyFits(this.#bodyBytes)) this.state = DATA
  }

  /** Takes body bytes, at most as many as remain of the body or of its current chunk. Returns the position after them. */
  #takeCounted(chunk: Buffer, from: number, end: number): number {
    const taken = Math.min(end - from, this.#left)
    this.#left -= taken
    if (taken > 0) this.#take(chunk, from, from + taken)
    return from + taken
  }

  /** Expects the body that the fields announce, if any. */
  protected bodyFollows(): void {
    if (this.coding !== undefined) {
      this.state = SIZE
      this.at = 0
      this.#left = 0
      return
    }
    this.#left = Number(this.length ?? 0)
    if (this.#bodyFits(this.#left)) this.state = this.#left > 0 ? BODY : COMPLETE
  }

  /** Expects no body, regardless of the fields. */
  protected nothingFollows(): void {
    this.state = COMPLETE
  }

  /** Reads all remaining bytes as body. */
  protected allFollows(): void {
    this.state = UNTIL_CLOSE
  }

  /** Stores a position in the chunk. Trailers are discarded, so only positions in the head matter. */
  #mark(place: number): void {
    if (!this.#trailers) this.mark(place)
  }

  protected mark(place: number): void {
    this.marks[this.marked++] = place + this.shift
  }

  /** Joins the body bytes of one chunk into one piece. The chunk framing between them is overwritten. */
  #take(chunk: Buffer, from: number, to: number): void {
    this.#taken += to - from
    if (this.#bodyFrom < 0) {
      this.#bodyFrom = from
      this.#bodyTo = to
    } else {
      chunk.copyWithin(this.#bodyTo, from, to)
      this.#bodyTo += to - from
    }
  }

  /** Evaluates a field that defines the length of the body. */
  #framed(word: Buffer): boolean {
    if (this.#trailers) return this.fails('a field that frames the body follows it')
    const value = trimmed(this.#value, 0, this.#value.length)
    if (word === LENGTH) {
      if (this.length !== undefined) return this.fails('there are several Content-Length fields')
      if (!/^\d{1,15}$/.test(value)) return this.fails('the Content-Length is not a number')
      this.length = value
    } else {
      if (this.coding !== undefined) return this.fails('there are several Transfer-Encoding fields')
      if (this.minor === 0) return this.fails('HTTP/1.0 has no Transfer-Encoding')
      if (value.toLowerCase() !== 'chunked') return this.fails('the only transfer coding taken is chunked', 501)
      this.coding = value
    }
    if (this.length === undefined || this.coding === undefined) return true
    return this.fails('Content-Length and Transfer-Encoding exclude each other')
  }

  #bodyFits(bytes: number): boolean {
    const limit = this.limits.body_bytes || MAX_LENGTH
    return bytes <= limit || this.fails(`the ${this.#what} body is larger than ${limit} bytes`, 413)
  }

  #headFits(bytes: number): boolean {
    this.#headBytes += bytes
    return (
      this.#headBytes <= this.limits.header_bytes ||
      this.fails(`the header fields of the ${this.#what} are too large`, 431)
    )
  }

  protected fails(detail: string, status = 400): false {
    this.issue = { status, detail }
    this.state = REFUSED
    return false
  }

  protected reject(detail: string, status = 400): number {
    this.fails(detail, status)
    return 0
  }
}

/** The fields of the last head. A copy of its beginning has no room to spare, and a list that grows is copied twice. */
const draft: string[] = []

/**
 * Returns the fields of a head, cut out of its text, as name, value, name, value. `marks` has, from `first` to `end`,
 * three positions per field, which are the start and the end of its name and the end of its value.
 */
export function fieldsOf(text: string, marks: readonly number[], first: number, end: number): string[] {
  let length = 0
  for (let i = first; i + 2 < end; i += 3) {
    const nameEnd = marks[i + 1]!
    draft[length++] = text.slice(marks[i], nameEnd)
    draft[length++] = trimmed(text, nameEnd + 1, marks[i + 2]!)
  }
  return draft.slice(0, length)
}

/**
 * Returns the fields of a head that was read, from the position of the first one in its text; -1 for none. The text of whole
 * lines may end without the end of the last line.
 */
export function fieldsIn(text: string, from: number): string[] {
  let length = 0
  for (let at = from; at >= 0 && at < text.length && text.charCodeAt(at) !== CR;) {
    const colon = text.indexOf(':', at)
    const mark = text.indexOf('\r', colon)
    const end = mark < 0 ? text.length : mark
    draft[length++] = text.slice(at, colon)
    draft[length++] = trimmed(text, colon + 1, end)
    at = end + 2
  }
  return draft.slice(0, length)
}
