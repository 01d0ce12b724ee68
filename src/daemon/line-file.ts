import { open, type FileHandle } from 'node:fs/promises'

/** Lines are written after at most this time. */
const DELAY_MS = 200
/** Lines are written earlier if they have this many characters. */
const WRITE_LENGTH = 65_536
/** Maximum characters that wait for a slow or full disk; further lines are dropped. */
const MAX_WAITING = 8 * 1024 * 1024

/** Receives lines of text. */
export interface LineWriter {
  /** Writes one line, which ends in a line feed. Never throws and never waits. */
  write(line: string): void
  /** Opens the file again, for a log rotation that renamed it. */
  reopen(): Promise<void>
  /** Writes all lines and closes the file. */
  close(): Promise<void>
}

export interface LineFileDeps {
  /** Called for each line that was dropped, because too many were waiting. */
  dropped(): void
  /** Called when the file cannot be written. The lines are written again later. */
  failed(error: unknown): void
}

/** Appends lines to a file. Several processes may append to the same file: each write consists of whole lines. */
export class LineFile implements LineWriter {
  readonly #path: string
  readonly #deps: LineFileDeps
  #file: FileHandle
  #waiting = ''
  /** The part of the last write that failed. */
  #rest: Buffer | undefined
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(path: string, file: FileHandle, deps: LineFileDeps) {
    this.#path = path
    this.#file = file
    this.#deps = deps
  }

  /** Opens the file, and creates it if it does not exist. Rejects if that is not possible. */
  static async open(path: string, deps: LineFileDeps): Promise<LineFile> {
    return new LineFile(path, await openForAppend(path), deps)
  }

  write(line: string): void {
    if (this.#waiting.length > MAX_WAITING) {
      this.#deps.dropped()
      return
    }
    this.#waiting += line
    if (this.#waiting.length >= WRITE_LENGTH) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
  }

  async reopen(): Promise<void> {
    const file = await openForAppend(this.#path)
    // Lines of before belong into the renamed file.
    this.#flush()
    await this.#running
    const replaced = this.#file
    this.#file = file
    await replaced.close()
  }

  async close(): Promise<void> {
    await this.#running
    this.#flush()
    await this.#running
    clearTimeout(this.#timer)
    await this.#file.close()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting === '' && !this.#rest) return
    this.#running ??= this.#writeAll().finally(() => {
      this.#running = undefined
      // A failed write is repeated after the usual delay.
      if (this.#rest || this.#waiting !== '') this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
    })
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#rest || this.#waiting !== '') {
        this.#rest ??= this.#take()
        const { bytesWritten } = await this.#file.write(this.#rest)
        this.#rest = bytesWritten < this.#rest.length ? this.#rest.subarray(bytesWritten) : undefined
      }
    } catch (error) {
      this.#deps.failed(error)
    }
  }

  #take(): Buffer {
    const text = this.#waiting
    this.#waiting = ''
    return Buffer.from(text)
  }
}

/** Writes lines to standard output, which is synchronous on Linux: so they never mix with those of the log. */
export class StandardOutput implements LineWriter {
  #waiting = ''
  #timer: NodeJS.Timeout | undefined

  write(line: string): void {
    this.#waiting += line
    if (this.#waiting.length >= WRITE_LENGTH) this.#flush()
    else this.#timer ??= setTimeout(() => this.#flush(), DELAY_MS).unref()
  }

  async reopen(): Promise<void> {}

  async close(): Promise<void> {
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#waiting === '') return
    process.stdout.write(this.#waiting)
    this.#waiting = ''
  }
}

const openForAppend = (path: string): Promise<FileHandle> => open(path, 'a', 0o640)
