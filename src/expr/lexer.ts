import { BACKSLASH, QUOTE } from '../core/bytes.js'
import { ExprSpanError, type ExprErrorClass } from './error.js'
import { parseIp, parseIpRange, type IpRange } from './language/ip.js'
import { toBytes, type Bytes, type Ip } from './language/value.js'

/**
 * Reads the words of the language from a byte string. There are no tokens, because the meaning of a text depends on the
 * expected type (`10` is a number, the beginning of an address or a byte). The parser requests the type it needs.
 */
export class Lexer {
  readonly source: string
  /** End of the text without trailing white space. */
  readonly end: number
  at: number

  constructor(source: string, start: number, end: number) {
    this.source = source
    this.end = end
    this.at = start
  }

  /** Returns an error from `start` to `end`, by default the end of the text. */
  issue(kind: ExprErrorClass, reason: string, start = this.at, end = this.end): ExprSpanError {
    return new ExprSpanError(kind, reason, start, end)
  }

  /** Skips white space: space, carriage return and line feed. A tab is not white space here. */
  skipSpace(): void {
    while (this.at < this.end) {
      const char = this.source.charCodeAt(this.at)
      if (char !== 0x20 && char !== 0x0a && char !== 0x0d) return
      this.at++
    }
  }

  /** Returns the byte at the current position, -1 at the end. */
  peek(ahead = 0): number {
    return this.at + ahead < this.end ? this.source.charCodeAt(this.at + ahead) : -1
  }

  /** Consumes `text` if it is next. Words have no boundary: `notssl` is `not` and `ssl`. */
  take(text: string): boolean {
    if (!this.source.startsWith(text, this.at) || this.at + text.length > this.end) return false
    this.at += text.length
    return true
  }

  expect(text: string): void {
    if (!this.take(text)) throw this.issue('ExpectedLiteral', `expected literal "${text}"`)
  }

  /** Reads the longest run of bytes that `test` accepts, at least one. */
  run(what: string, test: (char: number) => boolean): string {
    const start = this.at
    while (this.at < this.end && test(this.source.charCodeAt(this.at))) this.at++
    if (this.at === start) throw this.issue('ExpectedName', `expected ${what}`)
    return this.source.slice(start, this.at)
  }

  /** Reads `name.name.name`. */
  identifier(): string {
    const start = this.at
    do this.run('identifier character', isNameChar)
    while (this.take('.'))
    return this.source.slice(start, this.at)
  }

  /** Reads a 64-bit integer: decimal with an optional `-`, `0x` hexadecimal, a leading `0` octal. */
  int(): bigint {
    if (this.take('0x')) return this.#digits(this.at, 16)
    if (this.peek() === 0x30) return this.#digits(this.at, 8)
    const start = this.at
    this.take('-')
    return this.#digits(start, 10)
  }

  #digits(start: number, radix: 8 | 10 | 16): bigint {
    // Hexadecimal digits are read for every radix, so that `1e3` is one wrong number and not two words.
    this.run('digit', isHexDigit)
    const text = this.source.slice(start, this.at)
    const digits = text.startsWith('-') ? text.slice(1) : text
    if (!DIGITS[radix].test(digits)) {
      throw this.issue('ParseInt', `invalid digit found in string while parsing with radix ${radix}`, start, this.at)
    }
    const size = BigInt(PREFIX[radix] + digits)
    const value = text.startsWith('-') ? -size : size
    if (value !== BigInt.asIntN(64, value)) {
      const which = value < 0n ? 'small' : 'large'
      throw this.issue('ParseInt', `number too ${which} to fit in 64 bits`, start, this.at)
    }
    return value
  }

  /** Reads `a` or `a..b` of a set of integers. */
  intRange(): [first: bigint, last: bigint] {
    const start = this.at
    const first = this.int()
    const last = this.take('..') ? this.int() : first
    if (last < first) throw this.issue('IncompatibleRangeBounds', 'incompatible range bounds', start, this.at)
    return [first, last]
  }

  ip(): Ip {
    const start = this.at
    const text = this.run('IP address character', isIpChar)
    const ip = parseIp(text)
    if (ip !== undefined) return ip
    throw this.issue('ParseNetwork', "couldn't parse address in network: invalid IP address syntax", start, this.at)
  }

  /** Reads an address, a network or a range of a set of addresses. */
  ipRange(): IpRange {
    const start = this.at
    const range = parseIpRange(this.run('IP address character', isIpChar))
    if ('first' in range) return range
    throw this.issue(range.kind, range.reason, start + range.from, start + range.to)
  }

  /** Reads the name after a `$`. */
  listName(): string {
    const start = this.at
    while (this.at < this.end && isListChar(this.source.charCodeAt(this.at))) this.at++
    const name = this.source.slice(start, this.at)
    if (name === '' || name.startsWith('.') || name.endsWith('.')) {
      throw this.issue('InvalidListName', `invalid list name "${name || this.source.slice(start, start + 1)}"`, start)
    }
    return name
  }

  /** Reads a byte string: quoted, raw, or hexadecimal pairs with separators. */
  bytes(): Bytes {
    this.#some()
    if (this.peek() === QUOTE) return this.quoted()
    if (this.peek() === LETTER_R) return this.raw()
    let value = this.#byte(2, 16)
    this.#separator()
    do value += this.#byte(2, 16)
    while (isSeparator(this.peek()) && ++this.at > 0)
    return value
  }

  /** Throws if a string or pattern is expected and the text ends. */
  #some(): void {
    if (this.at >= this.end) throw this.issue('EOF', 'unrecognised input')
  }

  #separator(): void {
    if (this.at >= this.end) throw this.issue('CountMismatch', 'expected 1 characters, but found 0')
    if (!isSeparator(this.peek())) {
      let end = this.at + 1
      while (end < this.end && (this.source.charCodeAt(end) & 0xc0) === 0x80) end++
      throw this.issue('ExpectedName', 'expected byte separator', this.at, end)
    }
    this.at++
  }

  /** Reads one byte from `count` characters. */
  #byte(count: 2 | 3, radix: 8 | 16): string {
    const start = this.at
    for (let found = 0; found < count; found++) {
      if (this.at >= this.end) {
        throw this.issue('CountMismatch', `expected ${count} characters, but found ${found}`, start)
      }
      this.at++
      while ((this.peek() & 0xc0) === 0x80) this.at++
    }
    const text = this.source.slice(start, this.at)
    if (!DIGITS[radix].test(text)) {
      throw this.issue('ParseInt', `invalid digit found in string while parsing with radix ${radix}`, start, this.at)
    }
    const value = Number.parseInt(text, radix)
    if (value > 255) throw this.issue('ParseInt', 'number too large to fit in one byte', start, this.at)
    return String.fromCharCode(value)
  }

  /** Reads `"..."` with the escapes `\"`, `\\`, `\xHH` and `\OOO`. */
  quoted(): Bytes {
    this.expect('"')
    const start = this.at
    let value = ''
    let copied = this.at
    for (;;) {
      if (this.at >= this.end) throw this.issue('MissingEndingQuote', 'could not find an ending quote', start)
      const char = this.peek()
      if (char === QUOTE) {
        value += this.source.slice(copied, this.at++)
        return value
      }
      if (char !== BACKSLASH) {
        this.at++
        continue
      }
      value += this.source.slice(copied, this.at)
      this.at++
      value += this.#escaped(start)
      copied = this.at
    }
  }

  #escaped(start: number): string {
    const char = this.peek()
    if (char === -1) throw this.issue('MissingEndingQuote', 'could not find an ending quote', start)
    if (char >= 0x30 && char <= 0x37) return this.#byte(3, 8)
    this.at++
    if (char === QUOTE || char === BACKSLASH) return String.fromCharCode(char)
    if (char === LETTER_X) return this.#byte(2, 16)
    const from = this.at - 1
    while ((this.peek() & 0xc0) === 0x80) this.at++
    throw this.issue('InvalidCharacterEscape', 'expected \\", \\\\, \\xHH or \\OOO after the backslash', from, this.at)
  }

  /** Reads `r"..."` or `r#"..."#` with up to 255 `#`. No character inside has a special meaning. */
  raw(): Bytes {
    this.expect('r')
    const start = this.at
    while (this.peek() === HASH) this.at++
    const hashes = this.at - start
    if (hashes > 255) {
      const reason = `a raw string has at most 255 # signs, found ${hashes}`
      throw this.issue('InvalidRawStringHashCount', reason, start)
    }
    if (!this.take('"')) throw this.issue('ExpectedName', 'expected " or #')
    const close = this.source.indexOf(`"${'#'.repeat(hashes)}`, this.at)
    if (close === -1 || close + 1 + hashes > this.end) {
      throw this.issue('MissingEndingQuote', 'could not find an ending quote', start)
    }
    const value = this.source.slice(this.at, close)
    this.at = close + 1 + hashes
    return value
  }

  /** Reads a string if only quoted and raw strings are allowed. */
  string(): { value: Bytes; raw: boolean } {
    this.#some()
    if (this.peek() === QUOTE) return { value: this.quoted(), raw: false }
    if (this.peek() === LETTER_R) return { value: this.raw(), raw: true }
    throw this.issue('ExpectedName', 'expected " or r')
  }

  /**
   * Reads the text of a pattern. In a quoted one only `\"` outside of a class loses its backslash, and a quote inside
   * of `[...]` does not end it. Everything else is left to the pattern.
   */
  pattern(): { value: Bytes; raw: boolean; start: number } {
    this.#some()
    if (this.peek() === LETTER_R) {
      const value = this.raw()
      return { value, raw: true, start: this.at }
    }
    if (!this.take('"')) throw this.issue('ExpectedName', 'expected " or r')
    const start = this.at
    let value = ''
    let inClass = false
    for (;;) {
      const char = this.peek()
      if (char === -1) throw this.issue('MissingEndingQuote', 'could not find an ending quote', start)
      this.at++
      if (char === BACKSLASH) {
        const next = this.peek()
        if (next === -1) throw this.issue('MissingEndingQuote', 'could not find an ending quote', start)
        this.at++
        value += next === QUOTE && !inClass ? '"' : `\\${String.fromCharCode(next)}`
        continue
      }
      if (char === QUOTE && !inClass) return { value, raw: false, start }
      if (char === 0x5b) inClass = true
      if (char === 0x5d) inClass = false
      value += String.fromCharCode(char)
    }
  }
}

const HASH = 0x23
const LETTER_R = 0x72
const LETTER_X = 0x78

const DIGITS = { 8: /^[0-7]+$/, 10: /^[0-9]+$/, 16: /^[0-9a-fA-F]+$/ }
const PREFIX = { 8: '0o', 10: '', 16: '0x' }

const isDigit = (char: number): boolean => char >= 0x30 && char <= 0x39
/** Returns whether a byte is an ASCII letter, a digit or `_`. */
export const isNameChar = (char: number): boolean =>
  isDigit(char) || (char >= 0x61 && char <= 0x7a) || (char >= 0x41 && char <= 0x5a) || char === 0x5f
/** Returns whether a byte is a hexadecimal digit. */
export const isHexDigit = (char: number): boolean =>
  isDigit(char) || (char >= 0x61 && char <= 0x66) || (char >= 0x41 && char <= 0x46)
const isIpChar = (char: number): boolean => isHexDigit(char) || char === 0x3a || char === 0x2e || char === 0x2f
const isListChar = (char: number): boolean =>
  isDigit(char) || (char >= 0x61 && char <= 0x7a) || char === 0x5f || char === 0x2e
const isSeparator = (char: number): boolean => char === 0x3a || char === 0x2d || char === 0x2e

/**
 * Returns a lexer over the UTF-8 bytes of `text`. White space around it (tabs too) is skipped but counted in columns.
 */
export function lexerFor(text: string): Lexer {
  let first = 0
  let last = text.length
  // One character at a time. A pattern that is anchored only at the end would restart at each space before it.
  while (first < last && isBlank(text[first])) first++
  while (first < last && isBlank(text[last - 1])) last--
  const start = toBytes(text.slice(0, first)).length
  return new Lexer(toBytes(text), start, start + toBytes(text.slice(first, last)).length)
}

const isBlank = (char = ''): boolean => /^[\s\u0085]$/u.test(char)
