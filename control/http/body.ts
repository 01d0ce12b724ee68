import { HttpMethodEnum, koaBody } from 'koa-body'
import { ApiError } from './errors.js'
import { jsonFault } from './json-errors.js'
import { assertHostile } from './json-limits.js'
import type { ApiMiddleware } from './context.js'

const LIMIT = 10_000_000

/** Reads the JSON body of endpoints that take one. Bodies of other endpoints are left alone. */
export function readBody(): ApiMiddleware {
  const read = koaBody({
    json: true,
    jsonLimit: LIMIT,
    jsonStrict: false,
    multipart: false,
    urlencoded: false,
    text: false,
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
    onError(error) {
      throw refused(error)
    },
  })
  return async (ctx, next) => {
    if (ctx.state.endpoint?.body === undefined || isEmpty(ctx.headers)) return await next()
    const { jsonAs = [] } = ctx.state.endpoint
    if (!ctx.is(['application/json', ...jsonAs]))
      throw new ApiError('wrongType', undefined, 'the body must come as application/json')
    ctx.req.headers['content-type'] = 'application/json'
    return await read(ctx, async () => {
      // An empty chunked body is read as an empty text.
      if (ctx.request.body === '') delete ctx.request.body
      else assertHostile(ctx.request.body)
      await next()
    })
  }
}

const isEmpty = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'

/** What reading the body ended with, in the client's terms. */
function refused(error: Error & { readonly body?: unknown; readonly status?: unknown }): Error {
  const { status, body } = error
  if (status === 413) return new ApiError('tooLarge', undefined, `the JSON body is larger than ${LIMIT} bytes`)
  if (typeof body === 'string') {
    const fault = jsonFault(body)
    if (fault) return new ApiError('badJson', undefined, `Malformed JSON in request body: ${fault}`)
    // It parses, so the parser refused a `__proto__` in it.
    assertHostile(JSON.parse(body))
  }
  // Wrong length, unknown or broken content encoding, a connection that ended: all of them the sender's.
  return new ApiError('badBody', undefined, { cause: error })
}
