import { LRUCache } from 'lru-cache'
import { ApiError } from '../errors.js'
import type { ControlDeps, ApiMiddleware } from '../context.js'

/** Maximum number of callers counted. Beyond it, the least recently seen one restarts. Never more tokens than quota. */
const MAX_CALLERS = 10_000

interface Window {
  used: number
  /** Clock time at which the count restarts. */
  until: number
}

/**
 * Counts the requests of each caller over fixed periods that start with its first request. A caller over the limit is
 * rejected until a whole period has passed, as in the public API. Every response has the state in its headers.
 */
export function limitRate({ config, clock }: Pick<ControlDeps, 'config' | 'clock'>): ApiMiddleware {
  const windows = new LRUCache<string, Window>({ max: MAX_CALLERS })
  return async (ctx, next) => {
    const { requests, period } = config().control.rate_limit
    const { caller } = ctx.state
    if (requests > 0 && caller) {
      const now = clock.monotonic()
      const window = current(windows, caller.id, now, period)
      window.used += 1
      if (window.used === requests + 1) window.until = now + period
      const left = Math.max(0, requests - window.used)
      const seconds = Math.max(1, Math.ceil((window.until - now) / 1000))
      ctx.set('ratelimit', `"default";r=${left};t=${seconds}`)
      ctx.set('ratelimit-policy', `"default";q=${requests};w=${Math.ceil(period / 1000)}`)
      ctx.set('x-ratelimit-limit', String(requests))
      ctx.set('x-ratelimit-remaining', String(left))
      ctx.set('x-ratelimit-reset', new Date(clock.now() + seconds * 1000).toUTCString())
      if (window.used > requests)
        throw new ApiError('rateLimited', undefined, {
          message: `more than ${requests} requests in ${Math.ceil(period / 1000)} s; wait ${seconds} s`,
          headers: { 'retry-after': String(seconds) },
        })
    }
    await next()
  }
}

function current(windows: LRUCache<string, Window>, id: string, now: number, period: number): Window {
  const known = windows.get(id)
  if (known && known.until > now) return known
  const fresh = { used: 0, until: now + period }
  windows.set(id, fresh)
  return fresh
}
