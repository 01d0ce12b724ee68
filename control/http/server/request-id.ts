import { newRayId } from '../../../src/core/ids.js'
import { endpointPath } from '../paths.js'
import type { ControlDeps, ApiMiddleware } from '../context.js'

/** Sets the request id (`cf-ray`). Logs and counts the request after the response, without query and credentials. */
export function trace({ clock, log, observe }: Pick<ControlDeps, 'clock' | 'log' | 'observe'>): ApiMiddleware {
  return async (ctx, next) => {
    const requestId = newRayId()
    ctx.state.requestId = requestId
    ctx.set('cf-ray', requestId)
    // Responses contain data for this caller only, for example new tokens.
    ctx.set('cache-control', 'no-store')
    // Texts of clients, such as names and values of KV, must not run as scripts in a browser.
    ctx.set('x-content-type-options', 'nosniff')
    const started = clock.monotonic()
    const startedAt = clock.now()
    try {
      await next()
    } finally {
      const { method, status } = ctx
      const { endpoint, caller, scope } = ctx.state
      const ms = clock.monotonic() - started
      const path = endpoint ? endpointPath(endpoint, scope?.type ?? endpoint.scopes[0] ?? 'daemon') : 'unknown'
      const traceparent = ctx.get('traceparent') || undefined
      const traceId = observe?.({ method, path, status, seconds: ms / 1000, startedAt, requestId, traceparent })
      log.info({
        event: 'api',
        id: requestId,
        ...(traceId !== undefined && { trace_id: traceId }),
        method,
        path: ctx.path,
        status,
        ms: Math.round(ms * 100) / 100,
        caller: caller?.id,
      })
    }
  }
}
