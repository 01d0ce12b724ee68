import { LARGE_READ_BYTES } from '../../../core/schedule/turn-queue.js'

/** Bytes of one block. A body of known length has a last block of exactly the rest. */
const BLOCK_BYTES = 65_536
const FIRST_BYTES = 4096

/** Memory that bodies are charged to. */
export interface BodyMemory {
  /** Reserves bytes, after evicting others if necessary. Returns false if that is not possible. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Listener of a body that grows. */
export interface BodyListener {
  /** More bytes are available, or the body is complete. */
  grown(): void
  failed(error: unknown): void
  /** Whether it has passed on all bytes and its receiver accepts more. */
  readonly caughtUp: boolean
}

/**
 * The bytes of a response in blocks, read by any number of readers while it grows. The bytes never change, and their
 * memory is released when neither the cache nor a reader needs them.
 */
export class Body {
  readonly blocks: Buffer[] = []
  length = 0
  complete = false
  /** Why it will never be complete. */
  failure: { readonly error: unknown } | undefined
  readonly #memory: BodyMemory
  /** The length, if it is known before the end. */
  readonly expected: number | undefined
  readonly #listeners = new Set<BodyListener>()
  #charged = 0
  #users = 1
  /** The last chunk of a body that is no longer stored. */
  #window: Buffer | undefined
  /** Free bytes at the end of the last block. */
  #free = 0

  /** The caller is its first user. */
  constructor(memory: BodyMemory, expected: number | undefined) {
    this.#memory = memory
    this.expected = expected
  }

  /** Returns a body whose bytes are not in memory, but its length is known. */
  static elsewhere(memory: BodyMemory, length: number): Body {
    const body = new Body(memory, length)
    body.length = length
    body.complete = true
    return body
  }

  /** Bytes of memory that it occupies. */
  get charged(): number {
    return this.#charged
  }

  /** All bytes, if they are complete and few enough to be sent in one piece without a turn for them. */
  get short(): Buffer | undefined {
    return this.complete && this.length < LARGE_READ_BYTES && this.blocks.length === 1 ? this.blocks[0] : undefined
  }

  /** Whether somebody besides its owner reads it. */
  get pinned(): boolean {
    return this.#users > 1
  }

  /**
   * Appends a copy of the chunk. Returns false if memory runs out. The beginning of the chunk may have been appended
   * then.
   */
  append(chunk: Uint8Array): boolean {
    let from = 0
    while (from < chunk.length && (this.#free > 0 || this.#grow(chunk.length - from))) {
      const block = this.blocks.at(-1)!
      const count = Math.min(this.#free, chunk.length - from)
      block.set(chunk.subarray(from, from + count), block.length - this.#free)
      from += count
      this.#free -= count
      this.length += count
    }
    for (const listener of this.#listeners) listener.grown()
    return from === chunk.length
  }

  /**
   * Passes a chunk on without storing it, and releases the stored bytes. Every listener must have caught up, and no
   * other listener may be added.
   */
  relay(chunk: Buffer): void {
    this.#releaseBlocks()
    this.#window = chunk
    this.length += chunk.length
    for (const listener of this.#listeners) listener.grown()
  }

  /** Whether every listener has caught up. */
  get caughtUp(): boolean {
    for (const listener of this.#listeners) if (!listener.caughtUp) return false
    return true
  }

  /** Whether several listen. */
  get isShared(): boolean {
    return this.#listeners.size > 1
  }

  /** Whether somebody listens. */
  get isHeard(): boolean {
    return this.#listeners.size > 0
  }

  /** Marks the end, before the listeners are notified, and returns unused memory. */
  seal(): void {
    this.complete = true
    const last = this.blocks.at(-1)
    if (last && this.#free > 0) {
      const rest = Buffer.allocUnsafeSlow(last.length - this.#free)
      rest.set(last.subarray(0, rest.length))
      this.blocks[this.blocks.length - 1] = rest
      this.#uncharge(this.#free)
      this.#free = 0
    }
  }

  /** Notifies the listeners of the end. */
  end(): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener.grown()
  }

  /** Ends it as incomplete. */
  fail(error: unknown): void {
    this.failure = { error }
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener.failed(error)
  }

  /** Adds a user, whose memory it stays until {@link release}. */
  retain(): void {
    this.#users++
  }

  release(): void {
    if (--this.#users === 0) this.#releaseBlocks()
  }

  listen(listener: BodyListener): void {
    this.#listeners.add(listener)
  }

  unlisten(listener: BodyListener): void {
    this.#listeners.delete(listener)
  }

  /** Returns the bytes from a position to the end of its block, at most up to `to`. */
  slice(from: number, to: number): Buffer {
    if (this.#window) {
      const start = this.length - this.#window.length
      if (from < start) throw new Error('a range before the current position cannot be sent')
      return this.#window.subarray(from - start, Math.min(to, this.length) - start)
    }
    const index = Math.floor(from / BLOCK_BYTES)
    const start = index * BLOCK_BYTES
    return this.blocks[index]!.subarray(from - start, Math.min(to, this.length) - start)
  }

  /** Adds a block, or enlarges the last one if it is a small one. */
  #grow(missing: number): boolean {
    const last = this.blocks.at(-1)
    const small = last && last.length < BLOCK_BYTES ? last : undefined
    const used = small?.length ?? 0
    const size = Math.min(BLOCK_BYTES, used + (this.expected === undefined ? this.#step(missing, used) : this.#rest()))
    if (!this.#memory.take(size - used)) return false
    this.#charged += size - used
    this.#free = size - used
    const block = Buffer.allocUnsafeSlow(size)
    if (small) {
      block.set(small)
      this.blocks[this.blocks.length - 1] = block
    } else this.blocks.push(block)
    return true
  }

  /** Bytes to add to a body of unknown length. */
  #step(missing: number, used: number): number {
    return this.length >= BLOCK_BYTES ? BLOCK_BYTES : Math.max(missing, FIRST_BYTES, used)
  }

  #releaseBlocks(): void {
    this.#uncharge(this.#charged)
    this.blocks.length = 0
    this.#free = 0
  }

  #rest(): number {
    return Math.max(1, this.expected! - this.length)
  }

  #uncharge(bytes: number): void {
    this.#charged -= bytes
    if (bytes > 0) this.#memory.give(bytes)
  }
}
