import { HttpMethodEnum, koaBody } from 'koa-body'
import { machineFault } from '../../../src/core/errors.js'
import { ApiError } from '../errors.js'
import { parseJson } from '../json-body.js'
import type { ApiMiddleware } from '../context.js'

/** Maximum size of a JSON body in bytes, unless the endpoint sets `maxBytes`. */
const MAX_BYTES = 64 * 1024

/**
 * Reads the JSON body of endpoints that accept one. Bodies of other endpoints stay unread: values, records and uploads
 * are too large to buffer for each request, so those endpoints count and stream them.
 */
export function readBody(): ApiMiddleware {
  const readers = new Map<number, ApiMiddleware>()
  const reader = (maxBytes: number): ApiMiddleware => {
    const known = readers.get(maxBytes) ?? bytesReader(maxBytes)
    readers.set(maxBytes, known)
    return known
  }
  return async (ctx, next) => {
    const { body, jsonAs = [], maxBytes = MAX_BYTES } = ctx.state.endpoint ?? {}
    if (body === undefined || isEmpty(ctx.headers)) return await next()
    if (!ctx.is(['application/json', ...jsonAs]))
      throw new ApiError('wrongType', undefined, 'the body must be sent as application/json')
    return await reader(maxBytes)(ctx, async () => {
      const { body: bytes } = ctx.request as { readonly body?: unknown }
      // A chunked body can be empty too.
      if (Buffer.isBuffer(bytes) && bytes.length > 0) ctx.state.body = await parseJson(bytes)
      await next()
    })
  }
}

/**
 * koa-body reads, limits and decompresses the body. It does not parse it: depth, members and UTF-8 are checked
 * on the bytes before.
 */
function bytesReader(maxBytes: number): ApiMiddleware {
  return koaBody({
    json: false,
    multipart: false,
    urlencoded: false,
    text: true,
    textTypes: ['*/*'],
    textLimit: maxBytes,
    // Without one the body stays bytes: 10 MB as a text and back take 20 ms in one turn of the event loop.
    encoding: '',
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
    onError(error) {
      const { status } = error as Error & { readonly status?: unknown }
      if (status === 413) throw new ApiError('tooLarge', undefined, `the JSON body is larger than ${maxBytes} bytes`)
      if (machineFault(error) !== undefined) throw error
      // Wrong length, unknown or broken content encoding, a closed connection: each is an error of the sender.
      throw new ApiError('badBody', undefined, { cause: error })
    },
  })
}

const isEmpty = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0'
