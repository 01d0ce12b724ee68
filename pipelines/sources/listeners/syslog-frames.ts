/**
 * Splits a syslog connection into messages (RFC 6587). Octet counting (`LENGTH MESSAGE`) or lines is decided for each
 * message.
 */

/** A connection that cannot be read further because the end of a message is unknown. */
export class BrokenFraming extends Error {
  override readonly name = 'BrokenFraming'
}

/** Called with the bytes of a message, valid during the call. Undefined for a message that is too long. */
type Found = (message: Uint8Array | undefined) => void

const MAX_DIGITS = 9
const EMPTY = Buffer.alloc(0)
const LF = 0x0a
const SPACE = 0x20

/** Splits the bytes of one connection into messages. Buffers at most one message of the maximum size. */
export class SyslogFrames {
  readonly #max: number
  readonly #found: Found
  /** Begins with the {@link #length} bytes of a message that is not complete. */
  #buffer: Buffer = EMPTY
  #length = 0
  /** Number of these bytes that have no end of a line, so that a line that arrives in small parts is searched once. */
  #searched = 0
  /** Bytes of a message that is too long and whose length is known. */
  #skip = 0
  /** Inside of a line that is too long. */
  #skipLine = false

  constructor(max: number, found: Found) {
    this.#max = max
    this.#found = found
  }

  /** Reads bytes. Throws BrokenFraming. */
  read(chunk: Uint8Array): void {
    const bytes = this.#length === 0 ? chunk : this.#joined(chunk)
    let at = 0
    for (let next = this.#one(bytes, at); next > at; next = this.#one(bytes, at)) {
      at = next
      this.#searched = 0
    }
    const rest = bytes.subarray(at)
    if (rest.length === 0) this.#buffer = EMPTY
    // A copy, because the bytes of a chunk are reused.
    else if (this.#length === 0) this.#buffer = Buffer.from(rest)
    else if (at > 0) this.#buffer.set(rest)
    this.#length = rest.length
  }

  /** Appends bytes to the buffer, whose size at least doubles when it is full. */
  #joined(chunk: Uint8Array): Uint8Array {
    const end = this.#length + chunk.length
    if (end > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, Math.min(2 * this.#buffer.length, this.#max)))
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(chunk, this.#length)
    return this.#buffer.subarray(0, end)
  }

  /** Ends the connection. A last line needs no end. Throws BrokenFraming inside of a counted message. */
  end(): void {
    const rest = this.#buffer.subarray(0, this.#length)
    const counted = this.#skip > 0 || startsWithDigit(rest)
    if (counted) throw new BrokenFraming('the connection ended inside of a message')
    if (rest.length > 0 && !this.#skipLine) this.#line(rest)
  }

  /** Reads one message that begins at `at`. Returns its end, or `at` if more bytes are needed. */
  #one(bytes: Uint8Array, at: number): number {
    if (at >= bytes.length) return at
    if (this.#skip > 0) {
      const skipped = Math.min(this.#skip, bytes.length - at)
      this.#skip -= skipped
      return at + skipped
    }
    if (this.#skipLine) {
      const end = bytes.indexOf(LF, at)
      this.#skipLine = end < 0
      return end < 0 ? bytes.length : end + 1
    }
    return startsWithDigit(bytes, at) ? this.#counted(bytes, at) : this.#upToEnd(bytes, at)
  }

  #counted(bytes: Uint8Array, at: number): number {
    let length = 0
    let next = at
    while (next < bytes.length && isDigit(bytes[next]!) && next - at <= MAX_DIGITS)
      length = length * 10 + bytes[next++]! - 0x30
    if (next === bytes.length && next - at <= MAX_DIGITS) return at
    if (next - at > MAX_DIGITS || bytes[next] !== SPACE) throw new BrokenFraming('a message has an invalid length')
    next++
    if (length > this.#max) {
      this.#found(undefined)
      this.#skip = length
      return next
    }
    if (bytes.length - next < length) return at
    this.#found(bytes.subarray(next, next + length))
    return next + length
  }

  #upToEnd(bytes: Uint8Array, at: number): number {
    const end = bytes.indexOf(LF, at + this.#searched)
    if (end >= 0) {
      this.#line(bytes.subarray(at, end))
      return end + 1
    }
    this.#searched = bytes.length - at
    // The end of a line may be CR LF or NUL LF.
    if (this.#searched <= this.#max + 1) return at
    this.#found(undefined)
    this.#skipLine = true
    return bytes.length
  }

  #line(line: Uint8Array): void {
    let end = line.length
    // Some senders end lines with CR LF or NUL LF.
    while (end > 0 && (line[end - 1] === 0x0d || line[end - 1] === 0)) end--
    if (end > this.#max) this.#found(undefined)
    else if (end > 0) this.#found(line.subarray(0, end))
  }
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
/** Returns whether a length starts here. A length has no leading zero, and a message begins with `<`. */
const startsWithDigit = (bytes: Uint8Array, at = 0): boolean =>
  at < bytes.length && isDigit(bytes[at]!) && bytes[at] !== 0x30
