import { join } from 'node:path'
import type { FileHandle } from 'node:fs/promises'
import type { Position } from './types.js'
import { Buffers } from './buffers.js'
import { readAt } from '../../../src/disk/positioned-io.js'
import { HEADER_BYTES, MAGIC, NAMES, readHeader, RECORDS, type FrameHeader } from './frame.js'
import type { OpenFiles } from './open-files.js'

/** Bytes per read, unless a frame is larger. They hold two full frames, which exceed 256 KiB by at most one record. */
export const BLOCK_BYTES = 576 * 1024
/** Blocks below this size get their own memory. At the end of a spool there are many such blocks. */
const SMALL_BLOCK = 64 * 1024
/** How far apart the places are that a segment remembers. */
const INDEX_STEP = 256 * 1024

/** A frame of records in a block, which holds it from `at` on. */
export interface FramePlace extends FrameHeader {
  readonly at: number
}

/** Frames that were read together. */
export interface Block {
  readonly bytes: Buffer
  /** Memory of the bytes. */
  readonly memory: Buffer<ArrayBuffer>
  readonly frames: readonly FramePlace[]
  /** Where in the segment the next block begins. */
  readonly next: number
  /** Names of fields, if the block begins with the names of its segment. */
  readonly names: readonly string[] | undefined
}

/** Bytes of a segment without a valid frame. */
export interface Damage {
  readonly from: number
  readonly to: number
}

const segmentName = (first: Position): string => `${String(first).padStart(16, '0')}.seg`

/** Returns the position in the name of a segment. Undefined for other files. */
export function segmentFirst(name: string): Position | undefined {
  return /^\d{16}\.seg$/.test(name) ? Number(name.slice(0, 16)) : undefined
}

/** One file of a spool, read in blocks. Nothing here writes. */
export class Segment {
  readonly first: Position
  readonly path: string
  /** Durable bytes. Further bytes of the file do not count. */
  size: number
  /** When it was last written, ms since 1970. */
  touchedAt: number
  readonly #files: OpenFiles
  /** Some positions and where their frames begin, in order. */
  readonly #index: { first: Position; offset: number }[]
  #names: Promise<readonly string[] | undefined> | undefined

  constructor(files: OpenFiles, folder: string, first: Position, size: number, touchedAt: number) {
    this.#files = files
    this.first = first
    this.path = join(folder, segmentName(first))
    this.size = size
    this.touchedAt = touchedAt
    this.#index = [{ first, offset: 0 }]
  }

  /** The best offset to begin a walk towards a position, and the position at that offset. */
  before(position: Position): { readonly first: Position; readonly offset: number } {
    let low = 0
    let high = this.#index.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#index[middle]!.first <= position) low = middle
      else high = middle - 1
    }
    return this.#index[low]!
  }

  /** Returns the names of the fields of its records. Undefined if they cannot be read. */
  async names(): Promise<readonly string[] | undefined> {
    this.#names ??= this.block(0, new Buffers(BLOCK_BYTES, 0)).then((block) =>
      'frames' in block ? block.names : undefined,
    )
    try {
      return await this.#names
    } catch (error) {
      this.#names = undefined
      throw error
    }
  }

  /**
   * Returns the frames from `offset` on, as many as one read returns, or a {@link Damage} if none begins there. Large
   * blocks use one of `buffers`.
   */
  async block(offset: number, buffers: Buffers): Promise<Block | Damage> {
    return await this.#files.read(this.path, (file) => this.#block(file, offset, buffers))
  }

  /** The bytes of a damage, for keeping them elsewhere. */
  async read({ from, to }: Damage): Promise<Buffer> {
    return await this.#files.read(this.path, (file) => readAt(file, from, to))
  }

  async #block(file: FileHandle, offset: number, buffers: Buffers): Promise<Block | Damage> {
    const end = Math.min(this.size, offset + BLOCK_BYTES)
    let memory = end - offset > SMALL_BLOCK ? buffers.take() : Buffer.allocUnsafeSlow(end - offset)
    let bytes = await readAt(file, offset, end, memory)
    let header = readHeader(bytes, 0)
    if (typeof header === 'number' && offset + header <= this.size) {
      buffers.give(memory)
      bytes = await readAt(file, offset, offset + header)
      memory = bytes
      header = readHeader(bytes, 0)
    }
    if (typeof header === 'object') return this.#parse(bytes, memory, offset)
    buffers.give(memory)
    return { from: offset, to: await this.#nextFrame(file, offset + 1) }
  }

  #parse(bytes: Buffer, memory: Buffer<ArrayBuffer>, offset: number): Block {
    const frames: FramePlace[] = []
    let names: readonly string[] | undefined
    let at = 0
    for (;;) {
      const header = readHeader(bytes, at)
      if (typeof header !== 'object') break
      if (header.kind === NAMES) names = JSON.parse(bytes.toString('utf8', at + HEADER_BYTES, at + header.length))
      else {
        frames.push({ at, ...header })
        this.#remember(header.first, offset + at)
      }
      at += header.length
    }
    return { bytes, memory, frames, next: offset + at, names }
  }

  #remember(first: Position, offset: number): void {
    if (offset >= this.#index.at(-1)!.offset + INDEX_STEP) this.#index.push({ first, offset })
  }

  /** Returns the offset of the next valid frame from `from` on, or the end of the segment if there is none. */
  async #nextFrame(file: FileHandle, from: number): Promise<number> {
    let at = from
    while (at < this.size) {
      const bytes = await readAt(file, at, Math.min(this.size, at + BLOCK_BYTES))
      for (let found = bytes.indexOf(MAGIC); found >= 0; found = bytes.indexOf(MAGIC, found + 1)) {
        let header = readHeader(bytes, found)
        if (typeof header === 'number' && at + found + header <= this.size)
          header = readHeader(await readAt(file, at + found, at + found + header), 0)
        if (typeof header === 'object' && this.#fits(header)) return at + found
      }
      // The first bytes of the magic number may be at the border.
      at += Math.max(1, bytes.length - MAGIC.length + 1)
    }
    return this.size
  }

  #fits({ kind, first }: FrameHeader): boolean {
    return kind === RECORDS && first >= this.first
  }
}
