import { withHeader, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { OriginFacts, type OriginExchange } from '../exchange/origin-exchange.js'
import type { Entry } from './entries/entry.js'
import { unconditional, type CacheRequest } from './delivery/request.js'
import { normalizedFields } from './vary.js'

/** The request of one fetch. It is the request of the exchange that began the fetch, without conditions and ranges. */
export class FetchRequest implements OriginExchange {
  readonly method: 'GET' | 'QUERY'
  readonly target: string
  readonly headers: RawHeaders
  readonly clientShare: string | undefined
  readonly decisions: OriginExchange['decisions']
  readonly content: Buffer | undefined
  readonly origin = new OriginFacts()

  constructor(exchange: Exchange, { content }: CacheRequest, validated: Entry | undefined) {
    this.method = content ? 'QUERY' : 'GET'
    this.content = content?.bytes
    this.target = exchange.target
    this.clientShare = exchange.clientShare
    this.decisions = { cache: exchange.decisions.cache }
    const { vary } = exchange.decisions.cache ?? {}
    let headers: RawHeaders = unconditional(exchange.headers)
    if (vary) headers = normalizedFields(headers, vary)
    if (validated?.etag !== undefined) headers = withHeader(headers, 'if-none-match', validated.etag)
    else if (validated?.lastModified !== undefined)
      headers = withHeader(headers, 'if-modified-since', validated.lastModified)
    this.headers = headers
  }

  /** Copies the facts for the log record to the exchange that caused the request. */
  copyTo(exchange: Exchange): void {
    Object.assign(exchange.origin, this.origin, { url: exchange.origin.url })
  }
}
