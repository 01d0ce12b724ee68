import { headerOf } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import type { BodyHead } from '../../rules/types.js'
import type { RequestBody } from '../client/request-body.js'

const EMPTY: BodyHead = { bytes: '', size: 0, truncated: false, release: () => undefined }

/** How much of a body is buffered for rules, and the memory that all requests share for that. */
export interface BodyBounds {
  /** 0: rules see the length only. */
  readonly limit: number
  readonly memory: MemoryBudget
}

/**
 * Reads the beginning of a request's body into `exchange.body` and calls `ready`, immediately if there is nothing to
 * wait for. The body is forwarded unchanged: `upload` has all of it for the origin. If it is longer than the limit, or
 * the memory is used up, it is `truncated`. A client that waits for `100 Continue` gets it now. `ready` is not called
 * if the client leaves before. A caller that does not forward the upload calls its `abandon`, or leaves that to the end
 * of the exchange.
 */
export function bufferBody(
  exchange: Exchange,
  requestBody: RequestBody | null,
  { limit, memory }: BodyBounds,
  ready: () => void,
): void {
  if (requestBody === null) {
    exchange.body = EMPTY
    ready()
    return
  }
  const length = headerOf(exchange.rawHeaders, 'content-length')
  if (limit === 0) {
    exchange.body = { ...EMPTY, size: Number(length ?? 0), truncated: true }
    ready()
    return
  }
  requestBody.hold(limit, memory, ({ bytes, seen, ended }) => {
    // The text is a second copy, as long as rules may read it.
    const room = memory.take(bytes.length)
    const kept = room ? bytes : ''
    let counted = kept.length
    exchange.body = {
      bytes: kept,
      size: length === undefined || ended ? seen : Number(length),
      truncated: !ended || kept.length < seen,
      release() {
        memory.give(counted)
        counted = 0
        requestBody.abandon()
      },
    }
    ready()
  })
}
