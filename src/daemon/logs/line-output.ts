import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { LineBlocks } from './line-blocks.js'
import { DELAY_MS, type LineWriter, type LineWriterDeps } from './line-file.js'

const STANDARD_OUTPUT = 1
/** PIPE_BUF: a pipe takes that much whole, so lines of several processes and of the log never mix. */
const BLOCK_BYTES = 4096
/** Maximum time to wait for a reader that has stopped, when the daemon ends. */
const CLOSE_MS = 2000
const CLOSE_RETRY_MS = 20
const LINE_FEED = 10

/**
 * Writes lines to standard output. A pipe whose reader has stopped makes nothing else wait: lines wait in memory up to a
 * limit, then they are dropped.
 */
export class LineOutput implements LineWriter {
  readonly #deps: LineWriterDeps
  readonly #fd: number
  /** The descriptor is this object's own. */
  readonly #owned: boolean
  readonly #waiting = new LineBlocks(BLOCK_BYTES)
  #rest: Buffer | undefined
  #timer: NodeJS.Timeout | undefined

  /** `fd`: a descriptor of standard output, or of a pipe that takes its place. */
  constructor(deps: LineWriterDeps, fd = STANDARD_OUTPUT) {
    this.#deps = deps
    this.#fd = openWithoutWaiting(fd)
    this.#owned = this.#fd !== fd
  }

  write(line: string): void {
    if (this.#waiting.isFull) this.#deps.dropped(1)
    else if (this.#waiting.add(line) && !this.#rest) this.#writeBlocks()
    else this.#flushLater()
  }

  async reopen(): Promise<void> {}

  async close(): Promise<void> {
    for (let stalled = 0; stalled < CLOSE_MS;) {
      const hasProgress = this.#flush()
      if (this.#isEmpty) break
      stalled = hasProgress ? 0 : stalled + CLOSE_RETRY_MS
      await new Promise((resolve) => setTimeout(resolve, hasProgress ? 0 : CLOSE_RETRY_MS))
    }
    clearTimeout(this.#timer)
    this.#waiting.seal()
    let lines = 0
    for (let block = this.#rest; block; block = this.#waiting.take())
      for (const byte of block) if (byte === LINE_FEED) lines++
    if (lines > 0) this.#deps.dropped(lines)
    if (this.#owned) closeSync(this.#fd)
  }

  get #isEmpty(): boolean {
    return !this.#rest && this.#waiting.isEmpty
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
  }

  #flush(): boolean {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting.seal()
    return this.#writeBlocks()
  }

  /** Writes the blocks that are full, as far as the reader keeps up. Returns whether anything was written. */
  #writeBlocks(): boolean {
    let hasWritten = false
    try {
      for (;;) {
        const block = this.#rest ?? this.#waiting.take()
        if (!block) break
        this.#rest = block
        const written = writeSync(this.#fd, block)
        hasWritten = true
        this.#rest = written < block.length ? block.subarray(written) : undefined
        if (!this.#rest) this.#waiting.release(block)
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') this.#deps.failed(error)
      this.#flushLater()
    }
    return hasWritten
  }
}

/**
 * Opens a pipe a second time, so that only this descriptor reports a full pipe instead of waiting. Files, terminals and
 * sockets stay: they rarely wait, and a file would have a second position.
 */
function openWithoutWaiting(fd: number): number {
  if (!fstatSync(fd).isFIFO()) return fd
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK)
  } catch {
    // A pipe of another user cannot be opened again.
    return fd
  }
}
