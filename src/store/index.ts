import { systemClock } from '../core/clock.js'
import type { Store } from '../core/store.js'
import { RETENTION } from './records/audit-trail.js'
import { openLevel } from './level/level.js'
import { openMemory } from './memory.js'
import { openRedis } from './redis/redis.js'
import type { StoreOptions } from './records/options.js'

type Open = (url: string, options: StoreOptions) => Promise<Store> | Store

/** Functions that open each type of store, by the start of its URL. */
const STORES: ReadonlyMap<string, Open> = new Map<string, Open>([
  ['embedded', (_url, options) => openLevel(options)],
  ['memory', (_url, options) => openMemory(options)],
  ...['', '+sentinel', '+cluster'].flatMap((form): [string, Open][] => [
    [`redis${form}`, openRedis],
    [`rediss${form}`, openRedis],
  ]),
])

/**
 * Opens the store that a configuration names: `embedded`, `memory` or a URL of {@link redisTarget}. Rejects with a
 * message about the next step if the store is in use, damaged, of a newer version or unreachable.
 */
export async function openStore(
  url: string,
  options: Pick<StoreOptions, 'folder' | 'log'> & Partial<StoreOptions>,
): Promise<Store> {
  const open = STORES.get(url.split('://', 1)[0]!)
  if (!open)
    throw new Error('a store is one of embedded, memory, redis://host:port/number and rediss://host:port/number')
  return await open(url, { clock: systemClock, retention: RETENTION, ...options })
}

export type { AcceptedLosses } from './records/options.js'
export { RedisUnreachable } from './redis/connection.js'
