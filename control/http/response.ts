import { FileResponse, ApiResponse, type Endpoint, type Message } from './endpoint.js'
import { EventLoopYield, type Pause } from '../../src/core/event-loop-yield.js'
import { DAEMON } from '../../src/core/scope.js'
import { isLargeJson, jsonBytes } from './json-text.js'
import type { Caller, ApiMiddleware } from './context.js'

/** Caller of endpoints that require no credentials. */
const NOBODY: Caller = { type: 'token', id: '', name: '', grants: [] }

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/** Characters of a User-Agent that the audit record has. */
const MAX_USER_AGENT = 256

/** Calls the endpoint and puts its result into the envelope. */
export function writeResponse(endpoint: Endpoint): ApiMiddleware {
  return async (ctx) => {
    const { requestId, caller = NOBODY, scope = DAEMON, accountId = '' } = ctx.state
    const given = await endpoint.handle({
      requestId,
      source: {
        ip: ctx.req.socket.remoteAddress ?? '',
        method: ctx.method,
        path: ctx.path,
        userAgent: ctx.get('user-agent').slice(0, MAX_USER_AGENT),
      },
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
    const body = {
      success: true,
      errors: [],
      messages,
      ...(endpoint.bare !== true && { result: result ?? null }),
      ...(options.result_info && { result_info: options.result_info }),
      ...options.top,
    }
    if (!isLargeJson(body)) {
      ctx.body = body
      return
    }
    const bytes = await jsonBytes(body, pause)
    ctx.type = 'json'
    ctx.body = bytes
  }
}
