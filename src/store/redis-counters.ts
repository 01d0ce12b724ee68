import { Redis } from 'ioredis'
import type { Delta, SharedCounters } from '../core/counters.js'
import { OPTIONS } from './redis-link.js'

/** Sent in one round trip at most; more go in the next ones. */
const AT_ONCE = 5000

/**
 * Counters in Redis, on a connection of their own: a hash for each window of each limit, which Redis drops by itself two
 * periods after it was last written. They are not meant to outlive a crash.
 */
export class RedisCounters implements SharedCounters {
  readonly #redis: Redis

  private constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Connects; where that fails the counters are out of reach until Redis is back. */
  static async open(url: string): Promise<RedisCounters> {
    const redis = new Redis(url, { ...OPTIONS, commandTimeout: 1000 })
    // Each failed command rejects by itself; the connection comes back by itself.
    redis.on('error', () => undefined)
    await redis.connect().catch(() => undefined)
    return new RedisCounters(redis)
  }

  async add(deltas: readonly Delta[]): Promise<readonly number[]> {
    const totals: number[] = []
    for (let from = 0; from < deltas.length; from += AT_ONCE) {
      const pipeline = this.#redis.pipeline()
      for (const { limit, window, key, amount, periodMs } of deltas.slice(from, from + AT_ONCE)) {
        const name = `edged:limit:${limit}:${periodMs}:${window}`
        pipeline.hincrby(name, key, amount).pexpire(name, 2 * periodMs)
      }
      const answers = (await pipeline.exec()) ?? []
      for (let i = 0; i < answers.length; i += 2) {
        const [error, total] = answers[i] as [Error | null, unknown]
        if (error) throw error
        totals.push(Number(total))
      }
    }
    return totals
  }

  close(): void {
    this.#redis.disconnect()
  }
}
