import { CR, IN_VALUE, KINDS, SPACE, trimmed, ZERO } from '../core/bytes.js'
import { fieldsIn, fieldsOf, LINE_LF, MessageReader, START, type MessageLimits } from './message-reader.js'

// States with the position of the next byte in the status line.
const MINOR = 1
const MINOR_END = 2
const STATUS = 3
const STATUS_END = 4
const REASON = 5

const VERSION = Buffer.from('HTTP/1.')
const STATUS_DIGITS = 3
/** Further interim responses to one request are skipped. */
const MAX_INTERIM = 16

/** The head of an origin's response (RFC 9112, 4 and 5). */
export interface ResponseHead {
  /** 101, or 200 to 599. Other interim responses are in {@link ResponseReader.interim}. */
  readonly status: number
  /** Name, value, name, value. Each character is one byte (latin1), and values are without surrounding white space. */
  readonly fields: readonly string[]
}

/** A head before anything reads its fields as a list. */
export interface UnreadHead extends ResponseHead {
  readonly text: string
  /** Three positions per field, as {@link fieldsOf} reads them. They are valid until the next head is read. */
  readonly marks: readonly number[]
  /** How many positions there are. */
  readonly end: number
}

/** The head of a response. Most responses are forwarded before anything reads the list of their fields. */
class ReadHead implements UnreadHead {
  readonly status: number
  readonly text: string
  readonly marks: readonly number[]
  readonly end: number
  /** Position of the first field; -1 without one. */
  readonly #from: number
  #fields: string[] | undefined

  constructor(status: number, text: string, marks: readonly number[], end: number) {
    this.status = status
    this.text = text
    this.marks = marks
    this.end = end
    this.#from = end > 0 ? marks[0]! : -1
  }

  get fields(): readonly string[] {
    return (this.#fields ??= fieldsIn(this.text, this.#from))
  }
}

/** Reads the responses of one connection to an origin. */
export class ResponseReader extends MessageReader {
  /** The head of the response, after the last scan reached its end. */
  head: UnreadHead | undefined
  /** Interim responses that the last scan found before it, without 100 (RFC 9110, 15.2). */
  interim: ResponseHead[] | undefined
  /** Whether the connection can be used again after the response. Known with its head. */
  persists = false
  /**
   * Milliseconds that the origin keeps the connection open between requests. Undefined if the origin does not announce
   * a time.
   */
  keepAliveMs: number | undefined
  /** The response has no body, regardless of its fields. A faulty origin may send one. */
  bare = false
  /** The response is to HEAD. */
  #toHead = false
  #maySwitch = false
  #status = 0
  #keeps = false
  #closes = false
  #interimCount = 0

  constructor(limits: MessageLimits) {
    super('response', limits)
  }

  /**
   * Prepares for the response to a request. `upgrade` means that the request asks for another protocol, so that 101 is
   * allowed.
   */
  expect(method: string, upgrade: boolean): void {
    this.next()
    this.#toHead = method === 'HEAD'
    this.#interimCount = 0
    this.#maySwitch = upgrade
  }

  override scan(chunk: Buffer, end = chunk.length): number {
    this.head = undefined
    this.interim = undefined
    return super.scan(chunk, end)
  }

  protected firstLine(chunk: Buffer, from: number, end: number): number {
    let i = from
    for (; i < end; i++) {
      const byte = chunk[i]!
      switch (this.state) {
        case START:
          if (byte !== VERSION[this.at]) return this.reject('the response does not begin with a version of HTTP')
          if (++this.at === VERSION.length) this.state = MINOR
          break
        case MINOR:
          if (byte !== ZERO && byte !== ZERO + 1) return this.reject('the version of HTTP is not 1.0 or 1.1')
          this.minor = byte - ZERO
          this.state = MINOR_END
          break
        case MINOR_END:
          if (byte !== SPACE) return this.reject('the version is not followed by a status')
          this.state = STATUS
          this.at = 0
          this.#status = 0
          break
        case STATUS: {
          const digit = byte - ZERO
          if (digit < 0 || digit > 9) return this.reject('the status has a character that is not a digit')
          this.#status = this.#status * 10 + digit
          if (++this.at === STATUS_DIGITS) this.state = STATUS_END
          break
        }
        case STATUS_END:
          // Many servers leave out the space too if they have no reason phrase.
          if (byte === CR) return this.#lineRead(i)
          if (byte !== SPACE) return this.reject('the status has more than three digits')
          this.state = REASON
          break
        default:
          while (i < end && KINDS[chunk[i]!]! & IN_VALUE) i++
          if (i === end) return end
          if (chunk[i] !== CR) return this.reject('the reason of the status has a control character')
          return this.#lineRead(i)
      }
    }
    return i
  }

  #lineRead(end: number): number {
    this.state = LINE_LF
    return end + 1
  }

  protected headRead(text: string): void {
    const status = this.#status
    if (status < 100 || status > 599) this.fails(`the origin responded with status ${status}`)
    else if (status >= 200) {
      this.#read(status, text)
      this.bare = this.#toHead || status === 204 || status === 304
      if (this.bare) this.nothingFollows()
      else if (this.length !== undefined || this.coding !== undefined) this.bodyFollows()
      else this.#endsWithConnection()
    } else if (status !== 101) {
      this.#readInterim(status, text)
      this.nextHead()
    } else if (this.#maySwitch) {
      this.#read(status, text)
      this.nothingFollows()
    } else this.fails('the origin switched protocols without being asked to')
  }

  /** Collects interim responses except 100, because the proxy itself asks clients for bodies. */
  #readInterim(status: number, text: string): void {
    if (status === 100 || this.#interimCount++ >= MAX_INTERIM) return
    const head = { status, fields: fieldsOf(text, this.marks, 0, this.marked) }
    if (this.interim) this.interim.push(head)
    else this.interim = [head]
  }

  #endsWithConnection(): void {
    this.persists = false
    this.allFollows()
  }

  #read(status: number, text: string): void {
    const { marks, marked } = this
    this.#closes = false
    this.#keeps = this.minor === 1
    this.keepAliveMs = undefined
    for (let i = 0; i + 2 < marked; i += 3) {
      const end = marks[i + 1]!
      if (end - marks[i]! !== 10) continue
      const name = text.slice(marks[i], end).toLowerCase()
      if (name === 'connection') this.#connection(trimmed(text, end + 1, marks[i + 2]!))
      else if (name === 'keep-alive') this.#keepAlive(trimmed(text, end + 1, marks[i + 2]!))
    }
    this.persists = this.#keeps && !this.#closes
    this.head = new ReadHead(status, text, marks, marked)
  }

  // RFC 9112, 9.3.
  #connection(value: string): void {
    if (value === 'keep-alive') this.#keeps = true
    else if (value === 'close') this.#closes = true
    else {
      const options = value.split(',').map((option) => option.trim().toLowerCase())
      if (options.includes('keep-alive')) this.#keeps = true
      if (options.includes('close')) this.#closes = true
    }
  }

  #keepAlive(value: string): void {
    const seconds = /(?:^|[\s,;])timeout=(\d{1,9})/i.exec(value)?.[1]
    if (seconds !== undefined) this.keepAliveMs = Number(seconds) * 1000
  }
}
