import { LRUCache } from 'lru-cache'
import { Overloaded } from '../../http/origin-errors.js'
import type { AssetFile } from '../../workers/assets/files.js'
import { MemoryBudget } from '../../core/memory/memory-budget.js'

/** A file larger than this share of the cache is read each time. */
const MAX_SHARE = 1 / 8
/** Smaller ones are sent in one write. */
const SMALL = 65_536
/** Maximum bytes of files being read or sent, each file counted once. */
const MAX_LENT_BYTES = 512 * 1024 * 1024

/** Bytes of a file. They count until they are released. */
export interface Lent {
  readonly bytes: Buffer
  done(): void
}

/** A file that is being read or sent. */
interface Out {
  readonly size: number
  readonly reading: Promise<Buffer>
  users: number
  /** Resolves when they are read. */
  bytes: Buffer | undefined
}

const NOTHING = (): void => undefined

/**
 * Bytes of files, recently requested ones from memory. Requests for the same file share one read and the same bytes.
 * The bytes being sent to slow clients are bounded. Beyond the bound, files that are not already in use are rejected.
 */
export class BlobCache {
  readonly #read: (blob: string) => Promise<Buffer | undefined>
  readonly #cached: LRUCache<string, Buffer>
  readonly #largest: number
  readonly #out = new Map<string, Out>()
  readonly #budget: MemoryBudget

  constructor(read: (blob: string) => Promise<Buffer | undefined>, maxBytes: number, mostOut = MAX_LENT_BYTES) {
    this.#read = read
    this.#largest = Math.floor(maxBytes * MAX_SHARE)
    this.#cached = new LRUCache({ maxSize: Math.max(1, maxBytes), sizeCalculation: (bytes) => bytes.length + 256 })
    this.#budget = new MemoryBudget(mostOut)
  }

  /**
   * Returns the bytes if they are cached, else a promise of them. Throws Overloaded if too many large files are in use.
   */
  lend({ blob, size }: AssetFile): Lent | Promise<Lent> {
    const cached = this.#cached.get(blob)
    if (cached && size <= SMALL) return { bytes: cached, done: NOTHING }
    const out = this.#out.get(blob) ?? this.#begin(blob, size, cached)
    out.users += 1
    return out.bytes ? this.#lent(blob, out, out.bytes) : this.#whenRead(blob, out)
  }

  #begin(blob: string, size: number, bytes: Buffer | undefined): Out {
    if (!this.#budget.take(size)) throw new Overloaded('too many large files are being sent')
    const out = { size, reading: bytes ? Promise.resolve(bytes) : this.#load(blob, size), users: 0, bytes }
    this.#out.set(blob, out)
    return out
  }

  async #whenRead(blob: string, out: Out): Promise<Lent> {
    try {
      out.bytes = await out.reading
      return this.#lent(blob, out, out.bytes)
    } catch (error) {
      this.#back(blob, out)
      throw error
    }
  }

  #lent(blob: string, out: Out, bytes: Buffer): Lent {
    let lent = true
    return {
      bytes,
      done: () => {
        if (lent) this.#back(blob, out)
        lent = false
      },
    }
  }

  #back(blob: string, out: Out): void {
    out.users -= 1
    if (out.users > 0) return
    this.#out.delete(blob)
    this.#budget.give(out.size)
  }

  async #load(blob: string, size: number): Promise<Buffer> {
    const bytes = await this.#read(blob)
    if (bytes?.length !== size) throw new Error(`the blob ${blob} is missing; restore it from a backup`)
    if (size <= this.#largest) this.#cached.set(blob, bytes)
    return bytes
  }
}
