import type { Redis } from 'ioredis'
import type { Blobs } from '../../core/blobs.js'
import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { blobName, intact, isBlobName } from '../blobs/blob-name.js'
import { scannedKeys } from './load.js'

const PREFIX = 'edged:blob:'
/** Size of a piece. Redis serves no other client while it reads or writes a value, so values stay small. */
const CHUNK = 1024 * 1024

/** Removes a blob unless it was put again since its time was read. */
const CLEAR = `if redis.call('hget', KEYS[1], 'at') == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

/** Returns the names of all blobs. */
export async function redisBlobNames(redis: Redis): Promise<Set<string>> {
  return new Set((await scannedKeys(redis, `${PREFIX}*`)).map((key) => key.slice(PREFIX.length)))
}

/** Blobs in Redis. Each is a hash of pieces of 1 MiB, with the time of its last put. */
export function redisBlobs(redis: Redis, clock: Clock): Blobs {
  const ages = new AgeClock(clock)
  return {
    async put(bytes) {
      const name = blobName(bytes)
      const transaction = redis
        .multi()
        .del(PREFIX + name)
        .hset(PREFIX + name, 'at', clock.now())
      for (let from = 0; from < bytes.length; from += CHUNK)
        transaction.hset(PREFIX + name, String(from / CHUNK), Buffer.from(bytes.subarray(from, from + CHUNK)))
      const replies = (await transaction.exec()) ?? []
      for (const [error] of replies) if (error) throw error
      return name
    },

    async get(name) {
      if (!isBlobName(name)) return undefined
      const { at, ...pieces } = await redis.hgetallBuffer(PREFIX + name)
      if (at === undefined) return undefined
      const inOrder = Array.from({ length: Object.keys(pieces).length }, (_, i) => pieces[i] ?? Buffer.alloc(0))
      return intact(name, Buffer.concat(inOrder))
    },

    async collect(referenced, olderThanMs) {
      let gone = 0
      // A scan neither adds the prefix of the connection nor removes it.
      const prefix = redis.options.keyPrefix ?? ''
      const match = `${prefix}${PREFIX}*`
      for await (const keys of redis.scanStream({ match, count: 100 }) as AsyncIterable<string[]>) {
        for (const found of keys) {
          const key = found.slice(prefix.length)
          const at = await redis.hget(key, 'at')
          if (referenced.has(key.slice(PREFIX.length)) || ages.now() - Number(at) <= olderThanMs) continue
          gone += Number(await redis.eval(CLEAR, 1, key, at ?? ''))
        }
      }
      return gone
    },
  }
}
