import { open, type FileHandle } from 'node:fs/promises'
import { LineBlocks } from './line-blocks.js'

/** Lines are written after at most this time. */
export const DELAY_MS = 200
/** Lines are written earlier if they have this many bytes. */
const BLOCK_BYTES = 262_144

/** Receives lines of text. */
export interface LineWriter {
  /** Writes one line of ASCII characters, which ends in a line feed. Never throws and never waits. */
  write(line: string): void
  /** Opens the file again, for a log rotation that renamed it. */
  reopen(): Promise<void>
  /** Writes all lines and closes the file. */
  close(): Promise<void>
}

export interface LineWriterDeps {
  /** Called when lines were dropped, because too many were waiting. */
  dropped(lines: number): void
  /** Called when the file cannot be written. The lines are written again later. */
  failed(error: unknown): void
}

/** Appends lines to a file. Several processes may append to the same file: each write consists of whole lines. */
export class LineFile implements LineWriter {
  readonly #path: string
  readonly #deps: LineWriterDeps
  readonly #waiting = new LineBlocks(BLOCK_BYTES)
  #file: FileHandle
  /** The bytes of a block that could not be written. */
  #rest: Buffer | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(path: string, file: FileHandle, deps: LineWriterDeps) {
    this.#path = path
    this.#file = file
    this.#deps = deps
  }

  /** Opens the file, and creates it if it does not exist. Rejects if that is not possible. */
  static async open(path: string, deps: LineWriterDeps): Promise<LineFile> {
    return new LineFile(path, await openForAppend(path), deps)
  }

  write(line: string): void {
    if (this.#waiting.isFull) this.#deps.dropped(1)
    else if (this.#waiting.add(line)) this.#start()
    else this.#flushLater()
  }

  async reopen(): Promise<void> {
    const file = await openForAppend(this.#path)
    // Lines of before belong into the renamed file.
    await this.#flush()
    const replaced = this.#file
    this.#file = file
    await replaced.close()
  }

  async close(): Promise<void> {
    do await this.#flush()
    while (!this.#rest && !this.#waiting.isEmpty)
    clearTimeout(this.#timer)
    await this.#file.close()
  }

  get #isEmpty(): boolean {
    return !this.#rest && this.#waiting.isEmpty
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => void this.#flush(), DELAY_MS).unref()
  }

  /** Writes all lines that wait now. */
  async #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#running
    this.#waiting.seal()
    this.#start()
    await this.#running
  }

  /** Writes the blocks that are full. Lines that do not fill one wait, so that a busy log makes few writes. */
  #start(): void {
    this.#running ??= this.#writeBlocks().finally(() => {
      this.#running = undefined
      if (!this.#isEmpty) this.#flushLater()
    })
  }

  async #writeBlocks(): Promise<void> {
    try {
      for (;;) {
        const block = this.#rest ?? this.#waiting.take()
        if (!block) return
        this.#rest = block
        const { bytesWritten } = await this.#file.write(block)
        this.#rest = bytesWritten < block.length ? block.subarray(bytesWritten) : undefined
        if (!this.#rest) this.#waiting.release(block)
      }
    } catch (error) {
      this.#deps.failed(error)
    }
  }
}

const openForAppend = (path: string): Promise<FileHandle> => open(path, 'a', 0o640)
