import { messageOf } from '../../../src/core/errors.js'
import { ApiError } from '../errors.js'
import type { ApiMiddleware, ControlDeps } from '../context.js'

/** Longest wait of a request that only reads. After it, the response has the state that this machine knows. */
const MAX_READ_WAIT_MS = 1000

const nothing = (): undefined => undefined

const reads = (method: string): boolean => method === 'GET' || method === 'HEAD'

/**
 * Waits until this machine has every change that another machine confirmed before the request: a token, job or policy
 * that was created there applies to a request that a client sends here afterwards.
 */
export function catchUp({ store, clock }: Pick<ControlDeps, 'store' | 'clock'>): ApiMiddleware {
  return async (ctx, next) => {
    const caughtUp = store.caughtUp()
    if (caughtUp) {
      const end = new AbortController()
      const failed = caughtUp.then(nothing, messageOf)
      const late = clock.sleep(MAX_READ_WAIT_MS, end.signal).then(nothing, nothing)
      ctx.state.behind = await (reads(ctx.method) ? Promise.race([failed, late]) : failed)
      end.abort()
    }
    await next()
  }
}

/**
 * Rejects a request that may store something if this machine could not catch up. Reads get the records that this
 * machine has.
 */
export function assertCaughtUp(): ApiMiddleware {
  return async (ctx, next) => {
    const { behind } = ctx.state
    if (behind !== undefined && !reads(ctx.method))
      throw new ApiError('unavailable', undefined, {
        message: `the store does not accept changes now; nothing was changed: ${behind}`,
        headers: { 'retry-after': '5' },
      })
    await next()
  }
}
