import { LRUCache } from 'lru-cache'
import { Overloaded } from '../../net/origin-errors.js'
import type { AssetFile } from '../../workers/assets/files.js'
import { MemoryBudget } from '../memory-budget.js'

/** A file that takes more than this share of the cache is read each time. */
const LARGEST_SHARE = 1 / 8
/** Files being read, all together. */
const READING_BYTES = 256 * 1024 * 1024

/** Bytes of files, the ones asked for lately from memory. Requests for the same file wait for one reading of it. */
export class BlobCache {
  readonly #read: (blob: string) => Promise<Buffer | undefined>
  readonly #cached: LRUCache<string, Buffer>
  readonly #largest: number
  readonly #reading = new Map<string, Promise<Buffer>>()
  readonly #budget = new MemoryBudget(READING_BYTES)
  /** Large files that somebody is still being sent: those who ask for one get the same bytes. */
  readonly #sent = new Map<string, WeakRef<Buffer>>()
  readonly #forgotten = new FinalizationRegistry<string>((blob) => {
    if (!this.#sent.get(blob)?.deref()) this.#sent.delete(blob)
  })

  constructor(read: (blob: string) => Promise<Buffer | undefined>, maxBytes: number) {
    this.#read = read
    this.#largest = Math.floor(maxBytes * LARGEST_SHARE)
    this.#cached = new LRUCache({ maxSize: Math.max(1, maxBytes), sizeCalculation: (bytes) => bytes.length + 256 })
  }

  /** The bytes where they are at hand; else a promise of them, which rejects with Overloaded where too much is read. */
  get({ blob, size }: AssetFile): Buffer | Promise<Buffer> {
    return this.#cached.get(blob) ?? this.#sent.get(blob)?.deref() ?? this.#reading.get(blob) ?? this.#fetch(blob, size)
  }

  async #fetch(blob: string, size: number): Promise<Buffer> {
    if (!this.#budget.take(size)) throw new Overloaded('too many large files are being read')
    const reading = this.#load(blob, size)
    this.#reading.set(blob, reading)
    try {
      return await reading
    } finally {
      this.#reading.delete(blob)
      this.#budget.give(size)
    }
  }

  async #load(blob: string, size: number): Promise<Buffer> {
    const bytes = await this.#read(blob)
    if (bytes?.length !== size) throw new Error(`the blob ${blob} is missing; restore it from a backup`)
    if (size <= this.#largest) this.#cached.set(blob, bytes)
    else {
      this.#sent.set(blob, new WeakRef(bytes))
      this.#forgotten.register(bytes, blob)
    }
    return bytes
  }
}
