import type { Layer } from '@koa/router'
import { unroutable } from './envelope.js'
import { notOffered } from './not-offered.js'
import { ApiError } from '../errors.js'
import type { ApiMiddleware } from '../context.js'

/** Responds to requests without a route: lists the methods of a known path, else returns "no route". */
export function unmatched(): ApiMiddleware {
  return async (ctx) => {
    const layers = (ctx['matched'] ?? []) as readonly Layer[]
    const methods = [...new Set(layers.flatMap((layer) => layer.methods))].sort()
    if (methods.length === 0) throw unroutable(ctx.path)
    const allow = [...methods, 'OPTIONS'].join(', ')
    if (ctx.method !== 'OPTIONS') {
      const message = notOffered(ctx.path)
      throw new ApiError('badMethod', undefined, { headers: { allow }, ...(message !== undefined && { message }) })
    }
    ctx.set('allow', allow)
    ctx.status = 204
  }
}
