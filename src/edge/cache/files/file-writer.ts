import { open, rename, unlink, type FileHandle } from 'node:fs/promises'
import { writeAt } from '../../../disk/positioned-io.js'
import type { BodySink } from '../entries/types.js'
import { Checksums, encodeHead, type FileHead } from './format.js'

/** Bytes that wait for the disk. */
const MAX_PENDING = 262_144

export interface FileWriterOptions {
  readonly path: string
  readonly partial: string
  readonly slot: number
  readonly head: Omit<FileHead, 'length' | 'checksums'>
  /** Length of the body. Undefined if the file has a head only. */
  readonly length: number | undefined
  /** Resolves with false if the disk tier has no capacity for the file. */
  readonly begin: () => Promise<boolean>
  /** Called before the file gets its name. Returns false if it must not. */
  readonly mayKeep: () => boolean
  /** Called once. */
  readonly done: (result: FileResult) => void
}

/** `checksums` are the checksums of the body of a written file. `error` is an error of the disk. */
export interface FileResult {
  readonly isReserved: boolean
  readonly checksums?: string
  readonly error?: unknown
}

/** A reason that is not an error of the disk. */
class NotWritten extends Error {
  override readonly name = 'NotWritten'
}

const isErrno = (error: unknown): boolean => typeof (error as NodeJS.ErrnoException).code === 'string'

/**
 * Writes one response to disk: first the body as it arrives, then the head. The file gets its name last. Nothing is
 * synced. After a power failure the checksums detect missing data.
 */
export class FileWriter implements BodySink {
  readonly #options: FileWriterOptions
  readonly #checksums = new Checksums()
  #pending: Buffer[] = []
  #pendingBytes = 0
  #length = 0
  #blocked = false
  #ended = false
  #failed: { readonly error: unknown } | undefined
  #listener: (() => void) | undefined
  #wake: (() => void) | undefined

  constructor(options: FileWriterOptions) {
    this.#options = options
    void this.#run()
  }

  data(chunk: Buffer): boolean {
    if (this.#failed) return true
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    this.#wake?.()
    this.#blocked = this.#pendingBytes >= MAX_PENDING
    return !this.#blocked
  }

  end(): void {
    this.#ended = true
    this.#wake?.()
  }

  fail(): void {
    this.#failed ??= { error: new NotWritten('the response was cut off') }
    this.#wake?.()
  }

  onDrain(listener: () => void): void {
    this.#listener = listener
  }

  async #run(): Promise<void> {
    const { begin, done } = this.#options
    const isReserved = await begin().catch(() => false)
    try {
      if (!isReserved) throw this.#failed?.error ?? new NotWritten('the disk tier is full')
      const checksums = await this.#write()
      done({ isReserved, checksums })
    } catch (error) {
      this.#failed ??= { error }
      this.#pending = []
      // The source goes on without this file.
      this.#drain()
      done(error instanceof NotWritten || !isErrno(error) ? { isReserved } : { isReserved, error })
    }
  }

  /** Writes the file, and returns the checksums of its body. Removes it again if that fails. */
  async #write(): Promise<string> {
    const { path, partial, slot, head, length, mayKeep } = this.#options
    let file: FileHandle | undefined = await open(partial, 'wx', 0o600)
    try {
      await this.#body(file)
      if (this.#length !== (length ?? 0)) throw new NotWritten('the body has another length')
      const checksums = this.#checksums.text()
      const bytes = encodeHead({ ...head, length: this.#length, ...(length !== undefined && { checksums }) }, slot, 1)
      if (!bytes) throw new NotWritten('the head is too large')
      await writeAt(file, [bytes], 0)
      await file.close()
      file = undefined
      if (!mayKeep()) throw new NotWritten('the response was purged')
      await rename(partial, path)
      if (mayKeep()) return checksums
      await unlink(path)
      throw new NotWritten('the response was purged')
    } catch (error) {
      await file?.close().catch(() => undefined)
      await unlink(partial).catch(() => undefined)
      throw error
    }
  }

  /** Writes the body until its end. */
  async #body(file: FileHandle): Promise<void> {
    const { slot, length = 0 } = this.#options
    for (;;) {
      if (this.#failed) throw this.#failed.error
      const chunks = this.#pending
      if (chunks.length === 0) {
        if (this.#ended) return
        await new Promise<void>((resolve) => (this.#wake = resolve))
        this.#wake = undefined
        continue
      }
      this.#pending = []
      const bytes = this.#pendingBytes
      this.#pendingBytes = 0
      for (const chunk of chunks) this.#checksums.add(chunk)
      if (this.#length + bytes > length) throw new NotWritten('the body has another length')
      await writeAt(file, chunks, 2 * slot + this.#length)
      this.#length += bytes
      this.#drain()
    }
  }

  #drain(): void {
    if (!this.#blocked) return
    this.#blocked = false
    this.#listener?.()
  }
}
