const LINE_FEED = 0x0a
const FIRST_ROOM = 4096

/** Callback for each line that is not blank: `bytes` from `start` to `end`, valid until the call returns. */
export interface LineTaker {
  line(bytes: Uint8Array, start: number, end: number, number: number): void
  /** Called for a line longer than the limit; the line is skipped. */
  tooLong(number: number): void
}

/** Splits chunks of text into lines. Buffers one incomplete line, at most `most` bytes. */
export class LineCutter {
  readonly #max: number
  readonly #taker: LineTaker
  #held: Uint8Array = new Uint8Array(0)
  #length = 0
  #skipping = false
  #number = 1

  constructor(taker: LineTaker, max: number) {
    this.#taker = taker
    this.#max = max
  }

  /** Number of lines that have ended. */
  get ended(): number {
    return this.#number - 1
  }

  /**
   * Reads at most `maxLines` lines of a chunk, starting at `begin`. Returns where it stopped, which is the length or
   * the position after a line.
   */
  push(piece: Uint8Array, begin = 0, maxLines = Infinity): number {
    let from = begin
    let left = maxLines
    for (let end = piece.indexOf(LINE_FEED, from); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
      this.#end(piece, from, end)
      from = end + 1
      left--
      if (left === 0) return from
    }
    if (from < piece.length) this.#hold(piece, from, piece.length)
    return piece.length
  }

  /** Ends the input. The last line does not need a line feed. */
  finish(): void {
    if (this.#skipping || this.#length > 0) this.#end(new Uint8Array(0), 0, 0)
  }

  #end(piece: Uint8Array, from: number, end: number): void {
    const whole = this.#length === 0 && !this.#skipping
    if (whole && end - from > this.#max) this.#skipping = true
    if (!whole) this.#hold(piece, from, end)
    const number = this.#number++
    if (this.#skipping) this.#taker.tooLong(number)
    else if (whole) this.#take(piece, from, end, number)
    else this.#take(this.#held, 0, this.#length, number)
    this.#length = 0
    this.#skipping = false
  }

  #take(bytes: Uint8Array, from: number, end: number, number: number): void {
    let start = from
    while (start < end && isBlank(bytes[start]!)) start++
    if (start < end) this.#taker.line(bytes, start, end, number)
  }

  #hold(piece: Uint8Array, from: number, end: number): void {
    if (this.#skipping) return
    const length = this.#length + end - from
    if (length > this.#max) {
      this.#skipping = true
      return
    }
    if (length > this.#held.length) {
      const larger = new Uint8Array(Math.min(this.#max, Math.max(length, this.#held.length * 2, FIRST_ROOM)))
      larger.set(this.#held.subarray(0, this.#length))
      this.#held = larger
    }
    this.#held.set(piece.subarray(from, end), this.#length)
    this.#length = length
  }
}

/** Blank, tab, carriage return and line feed: the white space of JSON. */
const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED
