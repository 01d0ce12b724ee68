/** Numbers that depend only on a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
    this.next()
  }

  /** From 0 to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  chance(share: number): boolean {
    return share > 0 && this.next() < share
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }
}

/** Different streams of one seed, so that fewer choices in one stream leave the other streams as they are. */
export const stream = (seed: number, name: string): Random => new Random(hashOf(name, seed))

/** FNV-1a, continued from `from`. */
export function hashOf(text: string, from = 0): number {
  let hash = (0x811c9dc5 ^ from) >>> 0
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
  return hash
}
