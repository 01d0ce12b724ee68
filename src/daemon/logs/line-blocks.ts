/** Text is copied to a block in pieces of this length: to collect many short strings is expensive, and so is each copy. */
const PIECE_LENGTH = 2048
/** Maximum bytes that wait for a slow or full disk, or for a slow reader. */
const MAX_WAITING = 8 * 1024 * 1024

/** Lines that wait to be written, as blocks of whole lines. */
export class LineBlocks {
  readonly #blockBytes: number
  /** Lines that are not in a block yet. */
  #text = ''
  #block: Buffer
  #used = 0
  readonly #full: Buffer[] = []
  #fullBytes = 0
  /** A block that was written: it is used again. */
  #spare: Buffer | undefined

  constructor(blockBytes: number) {
    this.#blockBytes = blockBytes
    this.#block = Buffer.allocUnsafeSlow(blockBytes)
  }

  /** Whether further lines must be dropped. */
  get isFull(): boolean {
    return this.#fullBytes > MAX_WAITING
  }

  get isEmpty(): boolean {
    return this.#fullBytes === 0 && this.#used === 0 && this.#text === ''
  }

  /** Adds a line of ASCII characters. Returns whether a block is full. */
  add(line: string): boolean {
    this.#text += line
    if (this.#text.length >= PIECE_LENGTH) this.#store()
    return this.#fullBytes > 0
  }

  /** Makes a block of the lines that do not fill one. */
  seal(): void {
    this.#store()
    this.#close()
  }

  /** Removes and returns the oldest block. Returns undefined if none is full or sealed. */
  take(): Buffer | undefined {
    const block = this.#full.shift()
    if (block) this.#fullBytes -= block.length
    return block
  }

  /** Accepts a block of {@link take} that is not used any more. */
  release(block: Buffer): void {
    if (block.buffer.byteLength === this.#blockBytes) this.#spare = Buffer.from(block.buffer)
  }

  #store(): void {
    const text = this.#text
    this.#text = ''
    if (this.#used + text.length > this.#blockBytes) this.#close()
    if (text.length > this.#blockBytes) this.#queue(Buffer.from(text, 'latin1'))
    else this.#used += this.#block.write(text, this.#used, 'latin1')
  }

  #close(): void {
    if (this.#used === 0) return
    this.#queue(this.#block.subarray(0, this.#used))
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(this.#blockBytes)
    this.#spare = undefined
    this.#used = 0
  }

  #queue(block: Buffer): void {
    this.#full.push(block)
    this.#fullBytes += block.length
  }
}
