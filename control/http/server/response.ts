import { mayUse } from '../auth/access.js'
import { FileResponse, ApiResponse, type Call, type Endpoint, type Message } from '../endpoint.js'
import { ApiError } from '../errors.js'
import { EventLoopYield, type Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { DAEMON } from '../../../src/core/scope.js'
import { isLargeJson, jsonBytes } from '../json-text.js'
import { setJson } from './json-response.js'
import { placeOf } from './scope.js'
import type { Caller, ApiMiddleware } from '../context.js'

/** Caller of endpoints that require no credentials. */
const NOBODY: Caller = { type: 'token', id: '', name: '', grants: [] }

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/** Characters of a User-Agent that the audit record has. */
const MAX_USER_AGENT = 256

/** Returns the resource that a write changes, as its caller sees it with GET. */
async function currentOf(read: Endpoint, call: Call): Promise<unknown> {
  if (!mayUse(call.caller, read.permissions, placeOf(call))) return undefined
  try {
    const given = await read.handle({ ...call, query: new URLSearchParams(), body: undefined })
    return given instanceof ApiResponse ? given.result : given
  } catch (error) {
    // The write reports a resource that does not exist.
    if (error instanceof ApiError) return undefined
    throw error
  }
}

/** Calls the endpoint, with `read` for the current state of its resource, and puts its result into the envelope. */
export function writeResponse(endpoint: Endpoint, read?: Endpoint): ApiMiddleware {
  return async (ctx) => {
    const { requestId, caller = NOBODY, scope = DAEMON, accountId = '' } = ctx.state
    const call: Call = {
      requestId,
      source: {
        ip: ctx.state.clientAddress ?? '',
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
    }
    const given = await endpoint.handle(read ? { ...call, current: async () => await currentOf(read, call) } : call)
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
    setJson(ctx, isLargeJson(body) ? await jsonBytes(body, pause) : body)
  }
}
