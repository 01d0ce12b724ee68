/**
 * Reads lines of an input in blocks, in reused memory. Lines are never copied, except a line that is divided between
 * two blocks.
 */
import type { ByteSource } from './byte-source.js'

/** Maximum bytes of a line. A longer line is rejected, from any source. */
export const MAX_LINE_BYTES = 1 << 20

const BLOCK_BYTES = 1 << 20
const MAX_LINES = 8192
const LINE_FEED = 0x0a

/** A block of lines. Its content is valid until two more blocks have been read. */
export interface LineBlock {
  readonly bytes: Uint8Array
  readonly count: number
  /** Where each line begins and ends, without its line feed. A line that is too long ends at -1. */
  readonly starts: Int32Array
  readonly ends: Int32Array
  /** Offset of `bytes[0]` in the input, relative to the start of the reader. */
  readonly base: number
  /** Bytes of the input up to the end of the last line, with its line feed. */
  readonly end: number
  /** Whether the last line is too long and `end` is inside this line. */
  readonly midLine: boolean
}

/** Memory in which blocks are created one after the other. Consecutive readers can share it. */
export class LineMemory {
  readonly #blocks = [room(), room(), room()]
  #turn = 0

  next(): Block {
    this.#turn = (this.#turn + 1) % this.#blocks.length
    return this.#blocks[this.#turn]!
  }
}

/** Reads lines, and reads ahead while the caller is busy with a block. */
export class LineBlocks {
  readonly #source: ByteSource
  readonly #memory: LineMemory
  /** Bytes after the lines of the last block, in its memory. */
  #rest: Uint8Array = new Uint8Array(0)
  /** Whether the rest has lines that did not fit into a block. */
  #more = false
  /** Bytes read so far. */
  #read = 0
  /** Inside of a line that is too long. */
  #skipping = false
  #ahead: Promise<LineBlock | undefined> | undefined

  /** With `midLine` the input begins inside a line, which is skipped. */
  constructor(source: ByteSource, memory = new LineMemory(), midLine = false) {
    this.#source = source
    this.#memory = memory
    this.#skipping = midLine
  }

  /**
   * Returns the next whole lines. Undefined if there are none yet, or no more. An error of the source is thrown after
   * the lines before it. `rest` then has the line that was interrupted. Concurrent calls are not allowed.
   */
  async next(): Promise<LineBlock | undefined> {
    const block = await (this.#ahead ?? this.#fill())
    this.#ahead = undefined
    if (block === undefined) return undefined
    this.#ahead = this.#fill()
    // The next call reports it.
    this.#ahead.catch(() => undefined)
    return block
  }

  /** Returns the last line after the end of the input, if it has no line feed. */
  rest(): LineBlock | undefined {
    const block = this.#begin()
    const { length } = this.#rest
    this.#rest = this.#rest.subarray(length)
    if (length === 0) return undefined
    block.add(0, length)
    block.end = block.base + length
    return block
  }

  /** Bytes read from the input, including bytes of an unfinished line. */
  get bytesRead(): number {
    return this.#read
  }

  async close(): Promise<void> {
    await this.#ahead?.catch(() => undefined)
    await this.#source.close()
  }

  /** The block whose turn it is, with the rest of the one before at its beginning. */
  #begin(): Block {
    const block = this.#memory.next()
    block.bytes.set(this.#rest)
    block.base = this.#read - this.#rest.length
    block.count = 0
    block.midLine = false
    return block
  }

  async #fill(): Promise<LineBlock | undefined> {
    const block = this.#begin()
    const { bytes } = block
    let length = this.#rest.length
    let begin = 0
    let seen = this.#more ? 0 : length
    for (;;) {
      if (!this.#more) {
        const got = await this.#source.read(bytes, length).catch((error: unknown) => {
          this.#rest = bytes.subarray(begin, length)
          throw error
        })
        length += got
        this.#read += got
        if (got === 0) {
          this.#rest = bytes.subarray(begin, length)
          return undefined
        }
      }
      this.#more = false
      if (this.#skipping) {
        const end = bytes.subarray(seen, length).indexOf(LINE_FEED)
        if (end < 0) {
          block.base += length
          length = 0
          continue
        }
        begin = seen + end + 1
        seen = begin
        this.#skipping = false
      }
      const rest = this.#split(block, begin, seen, length)
      if (block.count > 0) {
        this.#rest = bytes.subarray(rest, length)
        block.end = block.base + rest
        return block
      }
      if (length - begin > MAX_LINE_BYTES) {
        block.add(begin, -1)
        this.#skipping = true
        this.#rest = bytes.subarray(length, length)
        block.end = block.base + length
        block.midLine = true
        return block
      }
      bytes.copyWithin(0, begin, length)
      block.base += begin
      length -= begin
      begin = 0
      seen = length
    }
  }

  /** Records the lines from `begin` on. There is no line feed before `seen`. Returns the end of the last line. */
  #split(block: Block, begin: number, seen: number, length: number): number {
    const bytes = Buffer.from(block.bytes.buffer, 0, length)
    let start = begin
    for (let end = bytes.indexOf(LINE_FEED, seen); end >= 0; end = bytes.indexOf(LINE_FEED, start)) {
      if (block.count === MAX_LINES) {
        this.#more = true
        break
      }
      block.add(start, end - start > MAX_LINE_BYTES ? -1 : end)
      start = end + 1
    }
    return start
  }
}

interface Block extends LineBlock {
  base: number
  count: number
  end: number
  midLine: boolean
  add(start: number, end: number): void
}

function room(): Block {
  return {
    bytes: new Uint8Array(BLOCK_BYTES + MAX_LINE_BYTES),
    starts: new Int32Array(MAX_LINES),
    ends: new Int32Array(MAX_LINES),
    base: 0,
    count: 0,
    end: 0,
    midLine: false,
    add(start, end) {
      this.starts[this.count] = start
      this.ends[this.count++] = end
    },
  }
}
