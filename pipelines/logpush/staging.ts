import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createGzip, gzip, type Gzip } from 'node:zlib'
import type { BatchBody, Encoding } from '../../src/core/sink.js'

const gzipped = promisify(gzip)

const LEVEL = 6
const READ_BYTES = 256 * 1024

/** A body that is there until it is discarded. */
export interface StagedBody extends BatchBody {
  discard(): Promise<void>
}

export interface StagingOptions {
  /** What one body may have in memory; a larger one goes to a file. */
  readonly bodyBytes?: number
  /** What all bodies together may have in memory. */
  readonly memoryBytes?: number
}

/** Keeps the texts of batches until they are delivered: small ones in memory, large ones in files, for one run of the daemon. */
export class Staging {
  readonly folder: string
  readonly bodyBytes: number
  readonly #memoryBytes: number
  #used = 0
  #files = 0

  private constructor(folder: string, { bodyBytes = 2 ** 20, memoryBytes = 24 * 2 ** 20 }: StagingOptions) {
    this.folder = folder
    this.bodyBytes = bodyBytes
    this.#memoryBytes = memoryBytes
  }

  /** Takes a folder for itself: what an earlier run left there goes, as batches are made again from the spool. */
  static async open(folder: string, options: StagingOptions = {}): Promise<Staging> {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return new Staging(folder, options)
  }

  begin(encoding: Encoding): Stage {
    return new Stage(this, encoding)
  }

  async file(): Promise<{ readonly path: string; readonly handle: FileHandle }> {
    const path = join(this.folder, `${this.#files++}.batch`)
    return { path, handle: await open(path, 'wx+', 0o600) }
  }

  /** Whether there is memory for so much more; then it is taken. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#memoryBytes) return false
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
  }
}

/** The body of one batch while it is made. A failed call leaves it to be discarded. */
export class Stage {
  readonly #encoding: Encoding
  readonly #kept: Kept
  #gzip: Gzip | undefined
  #stored: Promise<void> | undefined
  /** Set while the last piece is compressed. */
  #busy: Promise<unknown> | undefined

  constructor(staging: Staging, encoding: Encoding) {
    this.#encoding = encoding
    this.#kept = new Kept(staging)
  }

  /** Adds a piece of the text; resolves when it can be worked on, so that at most two pieces are in memory. */
  async write(piece: Uint8Array): Promise<void> {
    if (this.#encoding === 'identity') return await this.#kept.add(piece)
    const stream = this.#stream()
    await this.#busy
    const drained = new Promise((resolve) => stream.once('drain', resolve))
    this.#busy = stream.write(piece) ? undefined : Promise.race([drained, this.#stored])
    this.#busy?.catch(() => {})
  }

  /** Adds the last piece and ends the body. */
  async end(piece: Uint8Array): Promise<StagedBody> {
    if (this.#gzip !== undefined) {
      this.#gzip.end(piece)
      await this.#stored
    } else await this.#kept.add(this.#encoding === 'gzip' ? await gzipped(piece, { level: LEVEL }) : piece)
    return new Body(this.#kept, this.#encoding)
  }

  async discard(): Promise<void> {
    this.#gzip?.destroy()
    await this.#stored?.catch(() => {})
    await this.#kept.discard()
  }

  // zlib compresses in threads of its own: the main one goes on formatting.
  #stream(): Gzip {
    if (this.#gzip !== undefined) return this.#gzip
    const stream = createGzip({ level: LEVEL, chunkSize: 64 * 1024 })
    this.#gzip = stream
    this.#stored = (async () => {
      for await (const chunk of stream) await this.#kept.add(chunk as Uint8Array)
    })()
    // Whoever waits for it is told; without anybody it must not count as unhandled.
    this.#stored.catch(() => {})
    return stream
  }
}

/** Bytes in memory, until they are too many; then all of them in a file. */
class Kept {
  length = 0
  readonly #staging: Staging
  #chunks: Uint8Array[] = []
  #taken = 0
  #file: { readonly path: string; readonly handle: FileHandle } | undefined

  constructor(staging: Staging) {
    this.#staging = staging
  }

  async add(chunk: Uint8Array): Promise<void> {
    this.length += chunk.length
    if (this.#file === undefined && this.length <= this.#staging.bodyBytes && this.#staging.take(chunk.length)) {
      this.#taken += chunk.length
      this.#chunks.push(chunk)
      return
    }
    if (this.#file === undefined) {
      this.#file = await this.#staging.file()
      for (const earlier of this.#chunks) await this.#file.handle.appendFile(earlier)
      this.#forget()
    }
    await this.#file.handle.appendFile(chunk)
  }

  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#file === undefined) return yield* this.#chunks
    for (let at = 0; at < this.length;) {
      const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, this.length - at))
      const { bytesRead } = await this.#file.handle.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) throw new Error('the file of a staged batch ends too early')
      yield buffer.subarray(0, bytesRead)
      at += bytesRead
    }
  }

  async discard(): Promise<void> {
    this.#forget()
    const file = this.#file
    this.#file = undefined
    this.length = 0
    await file?.handle.close()
    if (file !== undefined) await rm(file.path, { force: true })
  }

  #forget(): void {
    this.#chunks = []
    this.#staging.give(this.#taken)
    this.#taken = 0
  }
}

class Body implements StagedBody {
  readonly encoding: Encoding
  readonly length: number
  readonly #kept: Kept

  constructor(kept: Kept, encoding: Encoding) {
    this.#kept = kept
    this.encoding = encoding
    this.length = kept.length
  }

  read(): AsyncIterable<Uint8Array> {
    return this.#kept.read()
  }

  async bytes(): Promise<Uint8Array> {
    const chunks: Uint8Array[] = []
    for await (const chunk of this.#kept.read()) chunks.push(chunk)
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  async discard(): Promise<void> {
    await this.#kept.discard()
  }
}
