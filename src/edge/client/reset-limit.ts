import { shareOf } from './client-address.js'

/** Requests that a client may cancel in a row, and per second after that. */
const BURST = 100
const PER_SECOND = 10
/** Time during which an address that exceeded the limit gets no HTTP/2. */
const BLOCK_MS = 10_000
/** Further addresses replace the oldest ones. */
const MAX_ADDRESSES = 10_000

interface Bucket {
  level: number
  at: number
  /** Blocked until then. */
  until: number
}

/**
 * Counts requests that clients of HTTP/2 cancel, by address. A client that cancels as fast as it sends would make the
 * proxy and its origins work at no cost for the client.
 */
export class ResetLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #now: () => number

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts a cancelled request. Returns true if the address has exceeded the limit. */
  exceeded(address: string): boolean {
    const now = this.#now()
    const key = shareOf(address)
    const bucket = this.#buckets.get(key) ?? { level: 0, at: now, until: 0 }
    bucket.level = Math.max(0, bucket.level - ((now - bucket.at) * PER_SECOND) / 1000) + 1
    bucket.at = now
    // Moves the entry behind the older ones.
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    if (this.#buckets.size > MAX_ADDRESSES) this.#buckets.delete(this.#buckets.keys().next().value!)
    if (bucket.level <= BURST) return false
    bucket.level = BURST
    bucket.until = now + BLOCK_MS
    return true
  }

  /** Returns whether the address has exceeded the limit a short time ago. */
  blocks(address: string): boolean {
    const bucket = this.#buckets.size > 0 ? this.#buckets.get(shareOf(address)) : undefined
    return bucket !== undefined && bucket.until > this.#now()
  }
}
