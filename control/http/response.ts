import { FileResponse, ApiResponse, type Endpoint, type Message } from './endpoint.js'
import { DAEMON } from '../../src/core/scope.js'
import type { Caller, ApiMiddleware } from './context.js'

/** Caller of endpoints that require no credentials. */
const NOBODY: Caller = { type: 'token', id: '', name: '', grants: [] }

/** Calls the endpoint and puts its result into the envelope. */
export function writeResponse(endpoint: Endpoint): ApiMiddleware {
  return async (ctx) => {
    const { requestId, caller = NOBODY, scope = DAEMON, accountId = '' } = ctx.state
    const given = await endpoint.handle({
      requestId,
      caller,
      scope,
      accountId,
      credentials: ctx.state.credentials,
      params: ctx.params,
      query: new URLSearchParams(ctx.querystring),
      body: ctx.state.body,
      request: ctx.req,
    })
    if (given instanceof FileResponse) {
      ctx.status = given.status
      if (given.status === 304) {
        ctx.set(given.headers)
        return
      }
      ctx.type = given.type
      ctx.body = given.body
      ctx.set(given.headers)
      return
    }
    const { result, options } = given instanceof ApiResponse ? given : new ApiResponse(given)
    if (options.headers) ctx.set(options.headers)
    ctx.status = options.status ?? endpoint.status ?? 200
    if (ctx.status === 204) return
    const messages: readonly Message[] = options.messages ?? []
    ctx.body = {
      success: true,
      errors: [],
      messages,
      ...(endpoint.bare !== true && { result: result ?? null }),
      ...(options.result_info && { result_info: options.result_info }),
      ...options.top,
    }
  }
}
