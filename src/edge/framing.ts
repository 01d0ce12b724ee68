import { METHODS } from 'node:http'
import type { Reason } from './error-page.js'
import { readHead, type RequestHead } from './request-head.js'

/*
 * Reads the bytes of a client's connection. Most parsers are made to cope with what is out there; a proxy must not: what
 * two parsers may read differently lets a request hide in another one. So everything outside the grammar of RFC 9112 is
 * refused here, and a request is read only up to its last byte, so that each is answered before the next one is looked at.
 */

/** Why a request is refused: the status of the answer, and a sentence for it. */
export interface Fault {
  readonly status: number
  readonly detail?: string
  /** Further fields of the answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** The decision of a rule that it comes from. */
  readonly reason?: Reason
  /** Seconds after which another try makes sense. */
  readonly retryAfter?: number | undefined
}

/** What a request has to stay within. */
export interface FramingLimits {
  readonly header_bytes: number
  readonly header_count: number
  /** 0: no limit. */
  readonly body_bytes: number
}

// Where in a request the next byte stands.
const START = 0
const START_LF = 1
const METHOD = 2
const TARGET = 3
const VERSION = 4
const VERSION_END = 5
const FIELD = 6
const NAME = 7
const VALUE = 8
const VALUE_LF = 9
const END_LF = 10
const BODY = 11
const SIZE = 12
const EXTENSION = 13
const SIZE_LF = 14
const DATA = 15
const DATA_CR = 16
const DATA_LF = 17
const COMPLETE = 18
const REFUSED = 19

const CR = 13
const LF = 10
const SPACE = 32
const COLON = 58
const SEMICOLON = 59

const IN_TOKEN = 1
const IN_TARGET = 2
const IN_VALUE = 4
const KINDS = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (/[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte))) KINDS[byte]! |= IN_TOKEN
  // RFC 3986 allows fewer, but browsers send the others as they are; a fragment is none of a server's business.
  if (byte > SPACE && byte < 127 && byte !== 35) KINDS[byte]! |= IN_TARGET
  if (byte === 9 || (byte >= SPACE && byte !== 127)) KINDS[byte]! |= IN_VALUE
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
const VERSION_TEXT = Buffer.from('HTTP/1.')
const LENGTH = Buffer.from('content-length')
const CODING = Buffer.from('transfer-encoding')

/** Empty lines before a request that are skipped (RFC 9112, 2.2). */
const MAX_EMPTY_LINES = 4
const MAX_METHOD = 32
/** A value that frames the body is never longer. */
const MAX_FRAMING_VALUE = 64
/** Bytes of chunk extensions in one request: nobody uses them but to attack. */
const MAX_EXTENSIONS = 4096
const MAX_SIZE_DIGITS = 16
const MAX_LENGTH = 2 ** 48

/** The framing of one connection's requests. */
export class Framing {
  /** Set once and for good: the connection takes no more requests. */
  fault: Fault | undefined
  limits: FramingLimits
  /** The head of the request, when the last scan came to its end. */
  head: RequestHead | undefined
  /** What the last scan found of the request's body, without the marks of chunks. */
  body: Buffer[] = []
  #state = START
  /** Bytes of the head (and of trailers) so far. */
  #headBytes = 0
  #fields = 0
  /** The head so far, and the places in it where its parts begin and end; see {@link readHead}. */
  #text = ''
  #marks: number[] = []
  #emptyLines = 0
  /** Position in a word that is being compared, or the length of one that is being measured. */
  #at = 0
  /** The name that the field's name may still turn out to be. */
  #word: Buffer | undefined
  #value = ''
  #minor = 0
  #length: string | undefined
  #coding: string | undefined
  #trailers = false
  #left = 0
  #bodyBytes = 0
  #extensions = 0

  constructor(limits: FramingLimits) {
    this.limits = limits
  }

  /** The last byte of a request was seen, and {@link next} was not called since. */
  get complete(): boolean {
    return this.#state === COMPLETE
  }

  /** The head of a request is being read. */
  get inHead(): boolean {
    return this.#state < BODY && !this.#trailers
  }

  /** No byte of the next request has come. */
  get idle(): boolean {
    return this.#state === START
  }

  /** The request being read has a body. Known with the last byte of its head. */
  get hasBody(): boolean {
    return this.#coding !== undefined || (this.#length !== undefined && Number(this.#length) > 0)
  }

  /** Gets ready for the request that follows. */
  next(): void {
    this.#state = START
    this.#headBytes = 0
    this.#fields = 0
    this.#text = ''
    this.#marks = []
    this.#emptyLines = 0
    this.#length = undefined
    this.#coding = undefined
    this.#trailers = false
    this.#bodyBytes = 0
    this.#extensions = 0
  }

  /** Reads a chunk up to the end of the request or of the chunk; returns how many bytes that is. See {@link fault}. */
  scan(chunk: Buffer): number {
    this.head = undefined
    if (this.body.length > 0) this.body = []
    const end = chunk.length
    const before = this.#headBytes
    let i = 0
    let headFrom = this.#state < BODY || this.#trailers ? 0 : -1
    while (i < end) {
      const byte = chunk[i]!
      switch (this.#state) {
        case START:
          if (byte === CR) {
            if (++this.#emptyLines > MAX_EMPTY_LINES) return this.#refuse('too many empty lines before the request')
            this.#state = START_LF
          } else if (KINDS[byte]! & IN_TOKEN) {
            this.#state = METHOD
            this.#marks.push(before + i)
            this.#at = 0
            continue
          } else return this.#refuse('the request line does not begin with a method')
          break
        case START_LF:
          if (byte !== LF) return this.#refuse('a carriage return stands without a line feed')
          this.#state = START
          break
        case METHOD:
          if (KINDS[byte]! & IN_TOKEN) {
            if (++this.#at > MAX_METHOD) return this.#refuse('the method is too long', 501)
          } else if (byte === SPACE) {
            this.#state = TARGET
            this.#marks.push(before + i)
            this.#at = 0
          } else return this.#refuse('the method has a character that no method has')
          break
        case TARGET: {
          const from = i
          while (i < end && KINDS[chunk[i]!]! & IN_TARGET) i++
          this.#at += i - from
          if (i === end) continue
          if (chunk[i] !== SPACE || this.#at === 0) return this.#refuse('the request line has no proper target')
          this.#state = VERSION
          this.#marks.push(before + i)
          this.#at = 0
          break
        }
        case VERSION:
          if (byte !== VERSION_TEXT[this.#at]) return this.#badVersion(byte)
          if (++this.#at === VERSION_TEXT.length) this.#state = VERSION_END
          break
        case VERSION_END:
          if (this.#at === VERSION_TEXT.length) {
            if (byte !== 48 && byte !== 49) return this.#badVersion(byte)
            this.#minor = byte - 48
            this.#at++
          } else if (byte === CR) this.#state = VALUE_LF
          else return this.#refuse('the request line does not end with its version')
          break
        case FIELD:
          if (byte === CR) this.#state = END_LF
          else if (KINDS[byte]! & IN_TOKEN) {
            if (++this.#fields > this.limits.header_count)
              return this.#refuse('the request has too many header fields', 431)
            this.#state = NAME
            this.#mark(before + i)
            this.#at = 0
            const letter = byte | 32
            this.#word = letter === 99 ? LENGTH : letter === 116 ? CODING : undefined
            continue
          } else return this.#refuse('a header field does not begin with its name')
          break
        case NAME:
          while (i < end && KINDS[chunk[i]!]! & IN_TOKEN) {
            // Of all token characters only the two cases of a letter become that letter.
            if (this.#word && (chunk[i]! | 32) !== this.#word[this.#at]) this.#word = undefined
            this.#at++
            i++
          }
          if (i === end) continue
          if (chunk[i] !== COLON) return this.#refuse('a header name has a character that no name has')
          if (this.#word && this.#at !== this.#word.length) this.#word = undefined
          this.#state = VALUE
          this.#mark(before + i)
          this.#value = ''
          break
        case VALUE: {
          const from = i
          while (i < end && KINDS[chunk[i]!]! & IN_VALUE) i++
          if (this.#word) {
            if (this.#value.length + i - from > MAX_FRAMING_VALUE) return this.#refuse('the body has no clear length')
            this.#value += chunk.toString('latin1', from, i)
          }
          if (i === end) continue
          if (chunk[i] !== CR) return this.#refuse('a header value has a control character')
          if (this.#word && !this.#framed(this.#word)) return i
          this.#state = VALUE_LF
          this.#mark(before + i)
          break
        }
        case VALUE_LF:
          if (byte !== LF) return this.#refuse('a carriage return stands without a line feed')
          this.#state = FIELD
          break
        case END_LF:
          if (byte !== LF) return this.#refuse('a carriage return stands without a line feed')
          i++
          if (!this.#headFits(i - headFrom)) return i
          if (this.#trailers) this.#state = COMPLETE
          else this.#headRead(chunk.toString('latin1', headFrom, i))
          headFrom = -1
          if (this.#state >= COMPLETE) return i
          continue
        case BODY:
        case DATA: {
          const taken = Math.min(end - i, this.#left)
          this.#left -= taken
          if (taken > 0) this.body.push(chunk.subarray(i, i + taken))
          i += taken
          if (this.#left > 0) continue
          if (this.#state === BODY) {
            this.#state = COMPLETE
            return i
          }
          this.#state = DATA_CR
          continue
        }
        case SIZE: {
          const digit = hexDigit(byte)
          if (digit >= 0) {
            if (++this.#at > MAX_SIZE_DIGITS) return this.#refuse('a chunk size is too large', 413)
            this.#left = this.#left * 16 + digit
          } else if (this.#at === 0) return this.#refuse('a chunk has no proper size')
          else if (byte === CR) this.#state = SIZE_LF
          else if (byte === SEMICOLON) this.#state = EXTENSION
          else return this.#refuse('a chunk has no proper size')
          break
        }
        case EXTENSION:
          if (byte === CR) this.#state = SIZE_LF
          else if (!(KINDS[byte]! & IN_VALUE)) return this.#refuse('a chunk extension has a control character')
          else if (++this.#extensions > MAX_EXTENSIONS) return this.#refuse('the chunk extensions are too long', 413)
          break
        case SIZE_LF:
          if (byte !== LF) return this.#refuse('a carriage return stands without a line feed')
          if (this.#left === 0) {
            this.#trailers = true
            headFrom = i + 1
            this.#state = FIELD
          } else {
            this.#bodyBytes += this.#left
            if (!this.#bodyFits(this.#bodyBytes)) return i
            this.#state = DATA
          }
          break
        case DATA_CR:
          if (byte !== CR) return this.#refuse('a chunk is longer than its size')
          this.#state = DATA_LF
          break
        case DATA_LF:
          if (byte !== LF) return this.#refuse('a carriage return stands without a line feed')
          this.#state = SIZE
          this.#at = 0
          this.#left = 0
          break
        default:
          return i
      }
      i++
    }
    if (headFrom >= 0 && this.#headFits(end - headFrom) && !this.#trailers) this.#text += chunk.toString('latin1')
    return end
  }

  /** Trailers end here, so only the head's places are of interest. */
  #mark(place: number): void {
    if (!this.#trailers) this.#marks.push(place)
  }

  /** Judges a field that says how long the body is. */
  #framed(word: Buffer): boolean {
    if (this.#trailers) return this.#fails('a field that frames the body stands behind it')
    const value = this.#value.replace(/^[ \t]+|[ \t]+$/g, '')
    if (word === LENGTH) {
      if (this.#length !== undefined) return this.#fails('there are several Content-Length fields')
      if (!/^\d{1,15}$/.test(value)) return this.#fails('the Content-Length is not a number')
      this.#length = value
    } else {
      if (this.#coding !== undefined) return this.#fails('there are several Transfer-Encoding fields')
      if (this.#minor === 0) return this.#fails('HTTP/1.0 has no Transfer-Encoding')
      if (value.toLowerCase() !== 'chunked') return this.#fails('the only transfer coding taken is chunked', 501)
      this.#coding = value
    }
    if (this.#length === undefined || this.#coding === undefined) return true
    return this.#fails('Content-Length and Transfer-Encoding exclude each other')
  }

  /** The head is read: what follows? */
  #headRead(rest: string): void {
    this.head = readHead(this.#text + rest, this.#marks, this.#minor === 0 ? '1.0' : '1.1')
    this.#text = ''
    this.#marks = []
    if (!KNOWN_METHODS.has(this.head.method)) {
      this.#fails('the method is not known', 501)
      return
    }
    if (this.#coding !== undefined) {
      this.#state = SIZE
      this.#at = 0
      this.#left = 0
      return
    }
    this.#left = Number(this.#length ?? 0)
    if (this.#bodyFits(this.#left)) this.#state = this.#left > 0 ? BODY : COMPLETE
  }

  #bodyFits(bytes: number): boolean {
    const limit = this.limits.body_bytes || MAX_LENGTH
    return bytes <= limit || this.#fails(`the request body is larger than ${limit} bytes`, 413)
  }

  #headFits(bytes: number): boolean {
    this.#headBytes += bytes
    return (
      this.#headBytes <= this.limits.header_bytes || this.#fails('the header fields of the request are too large', 431)
    )
  }

  #badVersion(byte: number): number {
    const digit = byte >= 48 && byte <= 57
    return digit && this.#at >= 5
      ? this.#refuse('the version of HTTP is not 1.0 or 1.1', 505)
      : this.#refuse('the request line does not end with its version')
  }

  #fails(detail: string, status = 400): false {
    this.fault = { status, detail }
    this.#state = REFUSED
    return false
  }

  #refuse(detail: string, status = 400): number {
    this.#fails(detail, status)
    return 0
  }
}

function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 32
  return letter >= 97 && letter <= 102 ? letter - 87 : -1
}
