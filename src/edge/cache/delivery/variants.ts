import { Delivery } from './delivery.js'
import type { Entry, Variant } from '../entries/entry.js'
import type { MemoryStore } from '../entries/memory.js'
import type { Derive, VariantRecorder } from '../entries/types.js'

/** Memory that a chunk costs besides its bytes. */
const CHUNK_OVERHEAD = 96

/** Records a representation in the memory of the cache. */
export class MemoryRecorder implements VariantRecorder {
  readonly #store: MemoryStore
  readonly #entry: Entry
  readonly #name: string
  #chunks: Buffer[] = []
  #length = 0
  #charged = 0
  #dropped = false

  constructor(store: MemoryStore, entry: Entry, name: string) {
    this.#store = store
    this.#entry = entry
    this.#name = name
  }

  append(chunk: Uint8Array): void {
    if (this.#dropped) return
    const bytes = chunk.length + CHUNK_OVERHEAD
    if (this.#length + chunk.length > this.#store.maxVariantBytes || !this.#store.take(bytes)) {
      this.drop()
      return
    }
    this.#charged += bytes
    this.#length += chunk.length
    this.#chunks.push(Buffer.from(chunk))
  }

  commit(facts?: string): Variant | undefined {
    if (this.#dropped) return undefined
    const variant: Variant = { bytes: Buffer.concat(this.#chunks, this.#length), ...(facts !== undefined && { facts }) }
    this.drop()
    this.#store.addVariant(this.#entry, this.#name, variant)
    return variant
  }

  drop(): void {
    this.#dropped = true
    this.#store.give(this.#charged)
    this.#charged = 0
    this.#chunks = []
  }
}

/** Derives a representation of a stored response only once, however many requests wait for it. */
export function derive(
  { store, entry, name, progressed }: { store: MemoryStore; entry: Entry; name: string; progressed: () => void },
  open: Derive,
  done: (variant: Variant | undefined) => void,
): void {
  const deriving = (entry.deriving ??= new Map())
  const present = deriving.get(name)
  if (present) {
    present.push(done)
    return
  }
  const waiting = [done]
  deriving.set(name, waiting)
  const sink = open(new MemoryRecorder(store, entry, name), (variant) => {
    if (deriving.get(name) !== waiting) return
    deriving.delete(name)
    for (const listener of waiting) listener(variant)
  })
  new Delivery(entry.body, sink, { pieces: undefined, done: () => undefined, progressed }).start()
}
