import { METHODS } from 'node:http'
import { CR, IN_TARGET, IN_TOKEN, KINDS, LF, SPACE } from '../../core/bytes.js'
import { fieldsIn, LINE_LF, MessageReader, START, type MessageLimits } from '../../http/message-reader.js'
import type { WorkerErrorName } from '../exchange/worker-sites.js'
import type { ErrorPageReason, HttpVersion } from '../../rules/types.js'

/** The reason for the rejection of a request, with the status of the response and a sentence for it. */
export interface HttpParseError {
  readonly status: number
  readonly detail?: string
  /** Advice to the owner of the website instead of the advice of the status. */
  readonly ownerAdvice?: string
  /** Further fields of the response. */
  readonly headers?: Readonly<Record<string, string>>
  /** The decision of a rule that caused it. */
  readonly reason?: ErrorPageReason | WorkerErrorName
  /** Seconds after which another attempt may succeed. */
  readonly retryAfter?: number | undefined
}

/** Limits of a request. */
export type FramingLimits = MessageLimits

/** The head of a request as it was sent (RFC 9112, 3 and 5), each character one byte (latin1). */
export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly httpVersion: HttpVersion
  /** Name, value, name, value. Values have no surrounding white space. */
  readonly rawHeaders: string[]
  /** The fields before anything reads them as a list. Undefined if the request was not sent as text. */
  readonly lines?: HeadLines
}

/** The fields in the text of a head. */
export interface HeadLines {
  readonly text: string
  /** Three positions per field, as {@link fieldsOf} reads them. They are valid until the next head is read. */
  readonly marks: readonly number[]
  /** The positions of the fields in `marks`. */
  readonly first: number
  readonly end: number
}

/** The head of a request that was sent as text. Most requests are forwarded before anything reads the list of their fields. */
class ReadHead implements RequestHead, HeadLines {
  readonly first = 3
  readonly method: string
  readonly target: string
  readonly httpVersion: HttpVersion
  readonly text: string
  readonly marks: readonly number[]
  readonly end: number
  /** Position of the first field; -1 without one. */
  readonly #from: number
  #fields: string[] | undefined

  constructor(text: string, marks: readonly number[], end: number, minor: number) {
    this.method = text.slice(marks[0], marks[1])
    this.target = text.slice(marks[1]! + 1, marks[2])
    this.httpVersion = minor === 0 ? '1.0' : '1.1'
    this.text = text
    this.marks = marks
    this.end = end
    this.#from = end > this.first ? marks[this.first]! : -1
  }

  get lines(): HeadLines {
    return this
  }

  get rawHeaders(): string[] {
    return (this.#fields ??= fieldsIn(this.text, this.#from))
  }
}

// States: the position of the next byte in the request line.
const START_LF = 1
const METHOD = 2
const TARGET = 3
const VERSION = 4
const VERSION_END = 5

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
const VERSION_TEXT = Buffer.from('HTTP/1.')

/** Empty lines before a request that are skipped (RFC 9112, 2.2). */
const MAX_EMPTY_LINES = 4
const MAX_METHOD = 32

/** The framing of one connection's requests. */
export class Framing extends MessageReader {
  /** The head of the request, after the last scan reached its end. */
  head: RequestHead | undefined
  #emptyLines = 0

  constructor(limits: FramingLimits) {
    super('request', limits)
  }

  /** Whether the request being read has a body. Known after the last byte of its head. */
  get hasBody(): boolean {
    return this.coding !== undefined || (this.length !== undefined && Number(this.length) > 0)
  }

  override next(): void {
    super.next()
    this.#emptyLines = 0
  }

  override scan(chunk: Buffer): number {
    this.head = undefined
    return super.scan(chunk)
  }

  protected firstLine(chunk: Buffer, from: number, end: number): number {
    let i = from
    while (i < end) {
      const byte = chunk[i]!
      switch (this.state) {
        case START:
          if (byte === CR) {
            if (++this.#emptyLines > MAX_EMPTY_LINES) return this.reject('too many empty lines before the request')
            this.state = START_LF
          } else if (KINDS[byte]! & IN_TOKEN) {
            this.state = METHOD
            this.mark(i)
            this.at = 0
            continue
          } else return this.reject('the request line does not begin with a method')
          break
        case START_LF:
          if (byte !== LF) return this.reject('a carriage return is not followed by a line feed')
          this.state = START
          break
        case METHOD:
          if (KINDS[byte]! & IN_TOKEN) {
            if (++this.at > MAX_METHOD) return this.reject('the method is too long', 501)
          } else if (byte === SPACE) {
            this.state = TARGET
            this.mark(i)
            this.at = 0
          } else return this.reject('the method has a character that is not allowed')
          break
        case TARGET: {
          const begin = i
          while (i < end && KINDS[chunk[i]!]! & IN_TARGET) i++
          this.at += i - begin
          // A target that alone exceeds the limit (RFC 9112, 3).
          if (this.at >= this.limits.header_bytes) return this.reject('the target is too long', 414)
          if (i === end) continue
          if (chunk[i] !== SPACE || this.at === 0) return this.reject('the request line has no proper target')
          this.state = VERSION
          this.mark(i)
          this.at = 0
          break
        }
        case VERSION:
          if (byte !== VERSION_TEXT[this.at]) return this.#badVersion(byte)
          if (++this.at === VERSION_TEXT.length) this.state = VERSION_END
          break
        default:
          if (this.at === VERSION_TEXT.length) {
            if (byte !== 48 && byte !== 49) return this.#badVersion(byte)
            this.minor = byte - 48
            this.at++
          } else if (byte === CR) {
            this.state = LINE_LF
            return i + 1
          } else return this.reject('the request line does not end with its version')
      }
      i++
    }
    return i
  }

  protected headRead(text: string): void {
    const { marks, marked } = this
    this.head = new ReadHead(text, marks, marked, this.minor)
    if (KNOWN_METHODS.has(this.head.method)) this.bodyFollows()
    else this.fails('the method is not known', 501)
  }

  #badVersion(byte: number): number {
    const digit = byte >= 48 && byte <= 57
    return digit && this.at >= 5
      ? this.reject('the version of HTTP is not 1.0 or 1.1', 505)
      : this.reject('the request line does not end with its version')
  }
}
