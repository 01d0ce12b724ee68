import { headerOf, type RawHeaders } from '../../../http/headers.js'
import type { Exchange } from '../../exchange/exchange.js'
import { hostOf } from '../../exchange/site.js'
import { ForwardingSink, type ResponseSink, type Stage } from '../../exchange/response.js'
import { publicSeconds } from './freshness.js'
import type { PageIndex } from './page-index.js'
import { titleOf } from './read-page.js'

/** Characters of a page that are searched. */
const MAX_BYTES = 256 * 1024

/** Returns the key of a site in the index: a zone can have several hosts. */
export const siteKey = (exchange: Exchange): string => `${exchange.zone.id} ${hostOf(exchange)}`

/** Returns the stage that makes pages which are sent as Markdown known to the search of their site. */
export function observingStage(index: PageIndex, now: () => number): Stage {
  return (exchange, next) => {
    const { zone, method } = exchange
    if (zone.agents?.mcp !== true || method !== 'GET') return next
    // An address with a query can be a secret that its owner has shared, and so can a page behind a password.
    if (exchange.target.includes('?') || exchange.auths.length > 0 || hasCredentials(exchange.rawHeaders)) return next
    return new ObservedPage(next, exchange, index, now)
  }
}

/** Names of fields that say who asks, as far as the words in them tell. */
const CREDENTIALS =
  /(?:^|-)(?:cookie|auth\w*|api-?key|access-?key|\w*token|secret|session|password|jwt|assertion)(?:$|-)/i

const hasCredentials = (headers: RawHeaders): boolean =>
  headers.some((name, at) => at % 2 === 0 && CREDENTIALS.test(name))

/** Copies the beginning of a page in Markdown on its way to the client. */
class ObservedPage extends ForwardingSink {
  readonly #exchange: Exchange
  readonly #index: PageIndex
  readonly #now: () => number
  #chunks: Buffer[] | undefined
  #length = 0
  #seconds = 0

  constructor(next: ResponseSink, exchange: Exchange, index: PageIndex, now: () => number) {
    super(next)
    this.#exchange = exchange
    this.#index = index
    this.#now = now
  }

  override head(status: number, headers: RawHeaders): void {
    const isPage =
      status === 200 &&
      this.#exchange.alias?.type !== 'llms_txt' &&
      headerOf(headers, 'content-type')?.startsWith('text/markdown') === true &&
      headerOf(headers, 'content-encoding') === undefined
    this.#seconds = isPage ? publicSeconds(headers) : 0
    if (this.#seconds > 0) this.#chunks = []
    this.next.head(status, headers)
  }

  override data(chunk: Buffer): boolean {
    if (this.#chunks && this.#length < MAX_BYTES) {
      this.#chunks.push(Buffer.from(chunk.subarray(0, MAX_BYTES - this.#length)))
      this.#length += chunk.length
    }
    return this.next.data(chunk)
  }

  override end(trailers?: RawHeaders): void {
    if (this.#chunks) {
      const text = Buffer.concat(this.#chunks).toString()
      const { target } = this.#exchange
      const expiresAt = this.#now() + this.#seconds * 1000
      this.#index.add(siteKey(this.#exchange), target, { title: titleOf(text) ?? target, text, expiresAt })
    }
    this.next.end(trailers)
  }

  override fail(error: unknown): void {
    this.#chunks = undefined
    this.next.fail(error)
  }
}
