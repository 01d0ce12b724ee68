import type { Redis } from 'ioredis'
import type { Delta, SharedCounters } from '../../core/metrics/counters.js'
import { connectRedis, redisConnection } from './connection.js'

/** Maximum number of commands in one round trip. Further ones are sent in the next. */
const MAX_COMMANDS = 5000

/**
 * Counters in Redis, on a separate connection. There is a hash for each window of each limit, which Redis drops
 * automatically two periods after its last write. They are not meant to survive a crash.
 */
export class RedisCounters implements SharedCounters {
  readonly #redis: Redis

  private constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Connects. If that fails, the counters are unavailable until Redis is reachable. */
  static async open(url: string): Promise<RedisCounters> {
    const redis = redisConnection(url, { commandTimeout: 1000 })
    await connectRedis(redis).catch(() => undefined)
    return new RedisCounters(redis)
  }

  async add(deltas: readonly Delta[]): Promise<readonly number[]> {
    const totals: number[] = []
    for (let from = 0; from < deltas.length; from += MAX_COMMANDS) {
      const pipeline = this.#redis.pipeline()
      const some = deltas.slice(from, from + MAX_COMMANDS)
      for (const { limit, window, key, amount, periodMs, anew } of some) {
        const name = `edged:limit:${limit}:${periodMs}:${window}`
        if (anew) pipeline.hset(name, key, amount)
        else pipeline.hincrby(name, key, amount)
        pipeline.pexpire(name, 2 * periodMs)
      }
      const replies = (await pipeline.exec()) ?? []
      for (const [i, { amount, anew }] of some.entries()) {
        const [error, total] = replies[2 * i] as [Error | null, unknown]
        if (error) throw error
        totals.push(anew ? amount : Number(total))
      }
    }
    return totals
  }

  close(): void {
    this.#redis.disconnect()
  }
}
