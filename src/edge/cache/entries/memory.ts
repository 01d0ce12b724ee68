import type { BodyMemory } from './body.js'
import type { Entry, EntryHead, Variant } from './entry.js'
import { Queue } from './queue.js'

/** Why an entry left. Labels a metric. */
export type Removal = 'capacity' | 'purge' | 'replaced' | 'invalid'

/** Share of the bytes for entries that were not used since they were stored. */
const SMALL_SHARE = 0.1
const MAX_HITS = 3
/** Maximum stored responses of one key that differ by Vary. */
const MAX_VARIANTS = 32
/** Maximum derived representations of one stored response, and the bytes that one costs besides its own. */
const MAX_DERIVED = 16
const VARIANT_OVERHEAD = 256
/** Maximum hashes of keys that were evicted before their second use. */
const MAX_GHOSTS = 65_536
/** Maximum entries that are considered for one reservation. */
const MAX_CONSIDERED = 4096

/**
 * Stored responses in memory. Eviction is S3-FIFO (Yang et al., SOSP 2023). New entries wait in a small queue and reach
 * the main queue only if they are used again, so a scan does not displace entries that are in use. A hit changes a
 * counter and moves nothing.
 */
export class MemoryStore implements BodyMemory {
  limit: number
  /** Called for each entry that is removed. */
  removed: (entry: Entry, reason: Removal) => void = () => undefined
  /** Called when the bytes or the number of the entries of a zone change. */
  changed: (zone: string, bytes: number, entries: number) => void = () => undefined
  readonly #byKey = new Map<string, Entry[]>()
  readonly #small = new Queue<Entry>()
  readonly #main = new Queue<Entry>()
  readonly #ghosts = new Set<number>()
  #used = 0
  #count = 0
  readonly #variantBytes = new Map<'markdown' | 'compressed', number>([
    ['markdown', 0],
    ['compressed', 0],
  ])

  constructor(limit: number) {
    this.limit = limit
  }

  /** Bytes in use, including bodies that are being received or still read after their eviction. */
  get used(): number {
    return this.#used
  }

  /** Maximum bytes of a derived representation. */
  get maxVariantBytes(): number {
    return this.limit / 16
  }

  get count(): number {
    return this.#count
  }

  /** Bytes of derived representations. */
  get variantBytes(): ReadonlyMap<string, number> {
    return this.#variantBytes
  }

  /** Returns the stored responses of a key, the newest last. */
  find(key: string): readonly Entry[] | undefined {
    return this.#byKey.get(key)
  }

  /** All entries, in no order. Entries may leave during the iteration. */
  *entries(): Generator<Entry> {
    for (const entries of this.#byKey.values()) for (const entry of entries.slice()) yield entry
  }

  /** Counts a hit. */
  hit(entry: Entry): void {
    if (entry.hits < MAX_HITS) entry.hits++
  }

  take(bytes: number): boolean {
    if (this.#used + bytes > this.limit && !this.#evict(bytes)) return false
    this.#used += bytes
    return true
  }

  give(bytes: number): void {
    this.#used -= bytes
  }

  /** Stores an entry whose body is complete. Returns false if its head does not fit. */
  insert(entry: Entry): boolean {
    if (entry.resident || !this.take(entry.headBytes)) return false
    const entries = this.#byKey.get(entry.key)
    if (entries) {
      // An entry without Vary matches every request, so it replaces all.
      for (const old of entries.slice()) if (entry.vary.length === 0 || same(old, entry)) this.remove(old, 'replaced')
      if (entries.length >= MAX_VARIANTS) this.remove(entries[0]!, 'capacity')
    }
    const present = this.#byKey.get(entry.key)
    if (present) present.push(entry)
    else this.#byKey.set(entry.key, [entry])
    entry.resident = true
    this.#count++
    entry.isMain = this.#ghosts.delete(hash(entry.key))
    this.#queue(entry).push(entry, size(entry))
    this.changed(entry.zone, size(entry), 1)
    return true
  }

  /** Replaces the head of an entry. The entry is removed if the new one does not fit. */
  update(entry: Entry, head: EntryHead): void {
    if (!entry.resident) {
      entry.replaceHead(head)
      return
    }
    const more = entry.bytesWith(head) - entry.headBytes
    const fits = more <= 0 || this.take(more)
    if (!fits || !entry.resident) {
      if (fits && more > 0) this.give(more)
      this.remove(entry, 'capacity')
      entry.replaceHead(head)
      return
    }
    if (more < 0) this.give(-more)
    this.#queue(entry).bytes += more
    this.changed(entry.zone, more, 0)
    entry.replaceHead(head)
  }

  remove(entry: Entry, reason: Removal): void {
    if (!entry.resident) return
    entry.resident = false
    this.#count--
    this.#queue(entry).remove(entry, size(entry))
    this.changed(entry.zone, -size(entry), -1)
    const entries = this.#byKey.get(entry.key)!
    if (entries.length === 1) this.#byKey.delete(entry.key)
    else entries.splice(entries.indexOf(entry), 1)
    this.give(entry.headBytes)
    this.dropVariants(entry)
    entry.body.release()
    this.removed(entry, reason)
  }

  /** Attaches a derived representation, if the entry is stored and memory is left. */
  addVariant(entry: Entry, name: string, variant: Variant): void {
    const bytes = variantBytes(name, variant)
    if (!entry.resident || entry.variants?.has(name) || bytes > this.maxVariantBytes) return
    if ((entry.variants?.size ?? 0) >= MAX_DERIVED || !this.take(bytes)) return
    // The reservation may have evicted the entry itself.
    if (!entry.resident) {
      this.give(bytes)
      return
    }
    entry.variants ??= new Map()
    entry.variants.set(name, variant)
    this.#countVariant(name, bytes)
  }

  dropVariants(entry: Entry): void {
    if (!entry.variants) return
    for (const [name, variant] of entry.variants) {
      const bytes = variantBytes(name, variant)
      this.give(bytes)
      this.#countVariant(name, -bytes)
    }
    entry.variants = undefined
  }

  #countVariant(name: string, bytes: number): void {
    const kind = name.startsWith('[') ? 'markdown' : 'compressed'
    this.#variantBytes.set(kind, this.#variantBytes.get(kind)! + bytes)
  }

  #queue(entry: Entry): Queue<Entry> {
    return entry.isMain ? this.#main : this.#small
  }

  /** Evicts entries until `bytes` bytes are free. Bytes that a slow client still reads are not free. */
  #evict(bytes: number): boolean {
    if (bytes > this.limit) return false
    for (let considered = 0; considered < MAX_CONSIDERED; considered++) {
      const fromSmall = this.#small.first && (this.#small.bytes > this.limit * SMALL_SHARE || !this.#main.first)
      const entry = fromSmall ? this.#small.first : (this.#main.first ?? this.#small.first)
      if (!entry) break
      if (entry.isMain) this.#considerMain(entry)
      else this.#considerSmall(entry)
      if (this.#used + bytes <= this.limit) return true
    }
    return this.#used + bytes <= this.limit
  }

  #considerSmall(entry: Entry): void {
    const bytes = size(entry)
    if (entry.hits > 0 || entry.body.pinned) {
      this.#small.remove(entry, bytes)
      entry.isMain = true
      entry.hits = 0
      this.#main.push(entry, bytes)
      return
    }
    this.#ghosts.add(hash(entry.key))
    if (this.#ghosts.size > MAX_GHOSTS) this.#ghosts.delete(this.#ghosts.values().next().value!)
    this.remove(entry, 'capacity')
  }

  #considerMain(entry: Entry): void {
    // Derived representations leave first.
    this.dropVariants(entry)
    if (entry.hits === 0 && !entry.body.pinned) {
      this.remove(entry, 'capacity')
      return
    }
    if (entry.hits > 0) entry.hits--
    const bytes = size(entry)
    this.#main.remove(entry, bytes)
    this.#main.push(entry, bytes)
  }
}

const variantBytes = (name: string, { bytes }: Variant): number => bytes.length + name.length * 2 + VARIANT_OVERHEAD

/** Bytes of an entry in its queue. The size is constant while the entry is stored. */
const size = (entry: Entry): number => entry.headBytes + entry.body.charged

const same = (a: Entry, b: Entry): boolean =>
  a.varyKey === b.varyKey && a.vary.length === b.vary.length && a.vary.every((name, i) => name === b.vary[i])

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = FNV_OFFSET
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), FNV_PRIME)
  return value >>> 0
}
