import { LRUCache } from 'lru-cache'
import type { Block, Damage, Segment } from './segment.js'

/** All spools together keep no more than this; readers that are further apart read for themselves. */
const CACHE_BYTES = 16 * 2 ** 20
/** What a block costs besides its bytes. */
const BLOCK_OVERHEAD = 1024

/** Blocks that were read last, and those that are being read: readers near each other share them. */
export class BlockCache {
  readonly #blocks = new LRUCache<string, Block>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => bytes.length + BLOCK_OVERHEAD,
  })
  readonly #reading = new Map<string, Promise<Block | Damage>>()

  async block(segment: Segment, offset: number): Promise<Block | Damage> {
    const key = `${segment.path} ${offset}`
    const kept = this.#blocks.get(key)
    if (kept !== undefined) return kept
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      reading = this.#read(key, segment, offset)
      this.#reading.set(key, reading)
    }
    return await reading
  }

  async #read(key: string, segment: Segment, offset: number): Promise<Block | Damage> {
    try {
      const block = await segment.block(offset)
      if ('frames' in block) this.#blocks.set(key, block)
      return block
    } finally {
      this.#reading.delete(key)
    }
  }
}
