import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../core/clock.js'
import { ResourceError, type ResourceHandler } from '../resource-server.js'

const MAX_KEYS = 100_000
const MAX_BODY_BYTES = 16 * 1024

interface Options {
  readonly key?: unknown
  readonly limit?: unknown
  readonly period?: unknown
}

/** Rate limits of scripts, counted in windows of their period. Bindings with the same namespace id share counts. */
export function ratelimitResource(clock: Clock): ResourceHandler {
  const windows = new LRUCache<string, { readonly number: number; count: number }>({ max: MAX_KEYS })
  return async (call) => {
    const { scope, id } = call
    const { key, limit, period } = JSON.parse((await call.body(MAX_BODY_BYTES)).toString('utf8')) as Options
    if (typeof key !== 'string' || typeof limit !== 'number' || typeof period !== 'number')
      throw new ResourceError(400, 'limit() needs a key, which must be a string')
    const number = Math.floor(clock.now() / 1000 / period)
    const name = JSON.stringify([scope.id, id, period, key])
    const known = windows.get(name)
    const window = known?.number === number ? known : { number, count: 0 }
    windows.set(name, window)
    window.count += 1
    const result = JSON.stringify({ success: window.count <= limit })
    return { status: 200, headers: { 'content-type': 'application/json' }, body: result }
  }
}
