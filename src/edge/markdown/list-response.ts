import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import { headerOf, headerValues, withoutHeader, type RawHeaders } from '../../http/headers.js'
import { hasTag, tagOf } from '../exchange/entity-tag.js'
import { WholeResponse } from '../exchange/whole-response.js'
import type { Exchange } from '../exchange/exchange.js'
import type { ResponseSink } from '../exchange/response.js'

const MAX_BYTES = 4 * 1024 * 1024

/** Returns the sink of a list of pages, which gives it an entity tag and a short lifetime. */
export function listResponse(next: ResponseSink, { method, rawHeaders }: Exchange, memory: MemoryBudget): ResponseSink {
  const isHead = method === 'HEAD'
  return new WholeResponse(next, {
    memory,
    maxBytes: MAX_BYTES,
    isHead,
    accepts: (status, headers) =>
      status === 200 && headerOf(headers, 'content-type')?.startsWith('text/markdown') === true,
    change: ({ status, headers, body }) => {
      const fields = shortLived(headers)
      if (isHead) return { status, headers: fields, body }
      const tag = tagOf(body)
      fields.push('etag', tag)
      return hasTag(rawHeaders, tag) ? { status: 304, headers: fields, body: EMPTY } : { status, headers: fields, body }
    },
  })
}

const EMPTY = Buffer.alloc(0)

/** Returns the fields with a lifetime of five minutes, unless the list is not for everyone. */
function shortLived(headers: RawHeaders): string[] {
  const isPrivate = headerValues(headers, 'cache-control').some((value) => /private|no-store|no-cache/i.test(value))
  return isPrivate ? [...headers] : [...withoutHeader(headers, 'cache-control'), 'cache-control', 'max-age=300']
}
