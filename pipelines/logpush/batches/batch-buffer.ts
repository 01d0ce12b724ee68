import { mkdir, open, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../src/core/errors.js'
import type { BatchBody, Encoding } from '../../../src/core/sink.js'
import { joinedCrc } from './crc.js'
import { DEFLATE_END, Deflater, type CompressedChunk } from './deflater.js'
import type { Shared } from './shared-formatting.js'
import type { Column } from '../parquet/columns.js'
import type { ParquetUse } from '../parquet/parquet-stats.js'
import { ParquetThread, type ParquetFile } from '../parquet/thread.js'
import { Buffers } from '../spool/buffers.js'

const READ_BYTES = 128 * 1024
/** A piece of a batch is 512 KiB and a record. */
const TEXT_BYTES = 576 * 1024
/** Maximum number of unused buffers that are kept. */
const MAX_FREE = 12

/** There is no capacity for a body. It is too large for memory, and the disk accepts no file. */
export class NoRoom extends Error {
  override readonly name = 'NoRoom'
}

/** A body that is there until it is discarded. */
export interface BatchBodyHandle extends BatchBody {
  /** Work for a Parquet file. Undefined for text. */
  readonly parquet?: ParquetUse | undefined
  discard(): Promise<void>
}

export interface BatchBufferOptions {
  /** Maximum bytes of one body in memory. A larger body is written to a file. */
  readonly bodyBytes?: number
  /** Maximum bytes in memory for all bodies together. */
  readonly memoryBytes?: number
}

/** A piece of a batch that other jobs may have too. */
export interface SharedChunk {
  readonly shared: Shared
  /** Which lines of the spool it has, and that it begins the batch, if it does. */
  readonly id: string
}

/**
 * Stores the texts of batches until they are delivered, small ones in memory and large ones in files, for one run of
 * the daemon. Adding to a body rejects with {@link NoRoom} if there is no capacity.
 */
export class BatchBuffer {
  readonly folder: string
  readonly bodyBytes: number
  /** For texts while they are written, and while they are compressed. */
  readonly buffers = new Buffers(TEXT_BYTES, MAX_FREE)
  readonly deflater = new Deflater(this.buffers)
  readonly #parquet = new ParquetThread()
  readonly #memoryBytes: number
  #used = 0
  #files = 0

  private constructor(folder: string, { bodyBytes = 2 ** 19, memoryBytes = 8 * 2 ** 20 }: BatchBufferOptions) {
    this.folder = folder
    this.bodyBytes = bodyBytes
    this.#memoryBytes = memoryBytes
  }

  /**
   * Opens a folder for one buffer. Files of an earlier run are deleted, because batches are created again from the
   * spool.
   */
  static async open(folder: string, options: BatchBufferOptions = {}): Promise<BatchBuffer> {
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return new BatchBuffer(folder, options)
  }

  /**
   * Maximum bytes of a text that needs no file while memory is available. Text that cannot be compressed becomes
   * longer.
   */
  get textBytes(): number {
    return Math.floor(this.bodyBytes * 0.9)
  }

  /** Creates a body. `level` is the gzip level, from 1 to 9, `columns` is for Parquet. */
  begin(encoding: Encoding, level: number, columns: readonly Column[] = []): OpenBody {
    if (encoding === 'parquet') return new ParquetBody(this, this.#parquet.open(columns))
    return new BufferedBody(this, encoding, level)
  }

  async file(): Promise<{ readonly path: string; readonly handle: FileHandle }> {
    const path = join(this.folder, `${this.#files++}.batch`)
    return { path, handle: await open(path, 'wx+', 0o600) }
  }

  /** Reserves memory. Returns false if there is not enough. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#memoryBytes) return false
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
  }
}

// Deflate, no name, no time, system unknown (RFC 1952).
const GZIP_HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)

/** Body of one batch during its creation. After a failed call it must be discarded. */
export interface OpenBody {
  /**
   * Adds a piece of the text, which can be changed as soon as this returns. Resolves when there is room for the next, so
   * that at most two are in memory.
   */
  write(piece: Uint8Array, of?: SharedChunk): Promise<void>
  /** Adds the last piece and ends the body. */
  end(piece: Uint8Array, of?: SharedChunk): Promise<BatchBodyHandle>
  discard(): Promise<void>
}

/** A body whose text becomes a Parquet file. */
class ParquetBody implements OpenBody {
  readonly #file: ParquetFile
  readonly #kept: Kept
  readonly #use = { groups: 0, seconds: 0 }
  #stored: Promise<void> = Promise.resolve()

  constructor(batchBuffer: BatchBuffer, file: ParquetFile) {
    this.#file = file
    this.#kept = new Kept(batchBuffer)
  }

  async write(piece: Uint8Array): Promise<void> {
    const before = this.#stored
    this.#store(piece, false)
    await before
  }

  async end(piece: Uint8Array): Promise<BatchBodyHandle> {
    this.#store(piece, true)
    await this.#stored
    return new Body(this.#kept, 'parquet', this.#use)
  }

  async discard(): Promise<void> {
    await this.#stored.catch(() => {})
    await this.#file.discard()
    await this.#kept.discard()
  }

  #store(piece: Uint8Array, last: boolean): void {
    const before = this.#stored
    const ready = this.#file.add(piece, last)
    this.#stored = (async () => {
      await before
      const { bytes, groups, ms } = await ready
      this.#use.groups += groups
      this.#use.seconds += ms / 1000
      if (bytes.length > 0) await this.#kept.add(bytes)
    })()
    // Waiting callers get the error. Without callers it must not count as unhandled.
    ready.catch(() => {})
    this.#stored.catch(() => {})
  }
}

class BufferedBody implements OpenBody {
  readonly #encoding: Encoding
  readonly #level: number
  readonly #deflater: Deflater
  readonly #kept: Kept
  #crc = 0
  #length = 0
  /** Resolves when all pieces so far are kept. */
  #stored: Promise<void> | undefined

  constructor(batchBuffer: BatchBuffer, encoding: Encoding, level: number) {
    this.#encoding = encoding
    this.#level = level
    this.#deflater = batchBuffer.deflater
    this.#kept = new Kept(batchBuffer)
  }

  async write(piece: Uint8Array, of?: SharedChunk): Promise<void> {
    const before = this.#stored
    this.#store(piece, of)
    await before
  }

  async end(piece: Uint8Array, of?: SharedChunk): Promise<BatchBodyHandle> {
    this.#store(piece, of)
    await this.#stored
    if (this.#encoding === 'gzip') {
      const trailer = Buffer.alloc(DEFLATE_END.length + 8)
      trailer.set(DEFLATE_END)
      trailer.writeUInt32LE(this.#crc, DEFLATE_END.length)
      trailer.writeUInt32LE(this.#length % 2 ** 32, DEFLATE_END.length + 4)
      await this.#kept.add(trailer)
    }
    return new Body(this.#kept, this.#encoding)
  }

  async discard(): Promise<void> {
    await this.#stored?.catch(() => {})
    await this.#kept.discard()
  }

  #store(text: Uint8Array, of: SharedChunk | undefined): void {
    // Not `slice`, because a slice of a Buffer is not a copy.
    const encoded = this.#encoding === 'gzip' ? this.#deflate(text, of) : Promise.resolve(new Uint8Array(text))
    this.#stored = this.#keep(encoded, this.#stored ?? this.#begin())
    // Waiting callers get the error. Without callers it must not count as unhandled.
    encoded.catch(() => {})
    this.#stored.catch(() => {})
  }

  /** Stores a piece after earlier ones. */
  async #keep(encoded: Promise<CompressedChunk | Uint8Array>, before: Promise<void>): Promise<void> {
    await before
    const piece = await encoded
    await this.#kept.add('bytes' in piece ? this.#joined(piece) : piece)
  }

  async #begin(): Promise<void> {
    if (this.#encoding === 'gzip') await this.#kept.add(GZIP_HEADER)
  }

  async #deflate(text: Uint8Array, of: SharedChunk | undefined): Promise<CompressedChunk> {
    const deflate = async () => await this.#deflater.deflate(text, this.#level)
    return await (of === undefined ? deflate() : of.shared.deflated(`${of.id} ${this.#level}`, deflate))
  }

  #joined({ bytes, crc, length }: CompressedChunk): Uint8Array {
    this.#crc = joinedCrc(this.#crc, crc, length)
    this.#length += length
    return bytes
  }
}

/** Bytes in memory. If they become too many, all bytes move to a file. */
class Kept {
  length = 0
  readonly #batchBuffer: BatchBuffer
  #chunks: Uint8Array[] = []
  #taken = 0
  #file: { readonly path: string; readonly handle: FileHandle } | undefined

  constructor(batchBuffer: BatchBuffer) {
    this.#batchBuffer = batchBuffer
  }

  async add(chunk: Uint8Array): Promise<void> {
    this.length += chunk.length
    if (
      this.#file === undefined &&
      this.length <= this.#batchBuffer.bodyBytes &&
      this.#batchBuffer.take(chunk.buffer.byteLength)
    ) {
      this.#taken += chunk.buffer.byteLength
      this.#chunks.push(chunk)
      return
    }
    try {
      await this.#append(chunk)
    } catch (cause) {
      throw new NoRoom(`the disk has no room for a batch: ${messageOf(cause)}`, { cause })
    }
  }

  async #append(chunk: Uint8Array): Promise<void> {
    if (this.#file === undefined) {
      this.#file = await this.#batchBuffer.file()
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
    this.#batchBuffer.give(this.#taken)
    this.#taken = 0
  }
}

class Body implements BatchBodyHandle {
  readonly encoding: Encoding
  readonly length: number
  readonly parquet: ParquetUse | undefined
  readonly #kept: Kept

  constructor(kept: Kept, encoding: Encoding, parquet?: ParquetUse) {
    this.#kept = kept
    this.parquet = parquet
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
