import { LRUCache } from 'lru-cache'
import { Buffers } from './buffers.js'
import { BLOCK_BYTES, type Block, type Damage, type Segment } from './segment.js'

/** Maximum bytes for all spools together. Readers that are further apart read separately. */
const CACHE_BYTES = 4 * 2 ** 20
/** Memory of a block besides its bytes. */
const BLOCK_OVERHEAD = 1024

/** A block that several readers may use. Its memory is reused after the last reader has released the block. */
export class SharedBlock {
  readonly block: Block
  readonly #buffers: Buffers
  #holders: number

  constructor(block: Block, buffers: Buffers, holders: number) {
    this.block = block
    this.#buffers = buffers
    this.#holders = holders
  }

  hold(): this {
    this.#holders++
    return this
  }

  /** Once for each `hold`. */
  letGo(): void {
    if (--this.#holders === 0) this.#buffers.give(this.block.memory)
  }
}

/** Blocks that were read last or are being read. Readers at nearby positions share them. */
export class BlockCache {
  readonly #buffers = new Buffers(BLOCK_BYTES, 4)
  readonly #blocks = new LRUCache<string, SharedBlock>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ block }) => block.memory.length + BLOCK_OVERHEAD,
    dispose: (shared) => shared.letGo(),
  })
  readonly #reading = new Map<string, { readers: number; readonly result: Promise<SharedBlock | Damage> }>()

  /**
   * Returns the block at an offset, retained for the caller, who has to release it, or the {@link Damage} at that
   * offset.
   */
  async block(segment: Segment, offset: number): Promise<SharedBlock | Damage> {
    const key = keyOf(segment, offset)
    const kept = this.#blocks.get(key)
    if (kept !== undefined) return kept.hold()
    let reading = this.#reading.get(key)
    if (reading === undefined) {
      reading = { readers: 0, result: this.#read(key, segment, offset) }
      this.#reading.set(key, reading)
    }
    reading.readers++
    return await reading.result
  }

  /** Returns the same if it is in memory. */
  kept(segment: Segment, offset: number): SharedBlock | undefined {
    return this.#blocks.get(keyOf(segment, offset))?.hold()
  }

  async #read(key: string, segment: Segment, offset: number): Promise<SharedBlock | Damage> {
    try {
      const block = await segment.block(offset, this.#buffers)
      if (!('frames' in block)) return block
      // One for each reader, one for the cache.
      const shared = new SharedBlock(block, this.#buffers, this.#reading.get(key)!.readers + 1)
      this.#blocks.set(key, shared)
      return shared
    } finally {
      this.#reading.delete(key)
    }
  }
}

const keyOf = ({ path }: Segment, offset: number): string => `${path} ${offset}`
