import { headerOf, headerValues, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { normalHostField } from '../../http/host-field.js'
import type { ResponseSink } from '../exchange/response.js'

/** URLs of a zone, from `storedUrls`, whose stored responses are not valid any more. */
export interface Invalidated {
  readonly zone: string
  readonly urls: readonly string[]
  /** Tags of groups of responses (RFC 9875) that are not valid any more. */
  readonly groups?: readonly string[]
}

/**
 * Returns the targets that Location and Content-Location name on the same host (RFC 9111, 4.4). The origin can name the
 * requested host, or the host that a rule sent to it.
 */
export function namedTargets({ scheme, headers, rawHeaders, target }: Exchange, response: RawHeaders): string[] {
  const requested = `${scheme}://${normalHostField(headerOf(rawHeaders, 'host') ?? '', scheme)}`
  const sent = `${scheme}://${headerOf(headers, 'host') ?? ''}`
  const targets: string[] = []
  for (const name of ['location', 'content-location'])
    for (const value of headerValues(response, name)) {
      if (!URL.canParse(value, sent + target)) continue
      const { host, pathname, search } = new URL(value, sent + target)
      if ([requested, sent].some((base) => URL.canParse(base) && new URL(base).host === host))
        targets.push(pathname + search)
    }
  return targets
}

/**
 * The response to an unsafe request. If the request succeeded, the stored responses for its URLs are removed before the
 * client gets the response. So a later request of this client cannot get an old response from another process.
 */
export class InvalidatingSink implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #observe: (status: number, headers: RawHeaders) => Promise<unknown> | undefined
  /** Chunks that wait for the removal. The source waits after the first one. */
  #held: Buffer[] | undefined
  #end: { readonly trailers: RawHeaders | undefined } | undefined
  #drained: (() => void) | undefined

  /** `observe` removes the responses. It returns undefined if that is complete, and never rejects. */
  constructor(next: ResponseSink, observe: (status: number, headers: RawHeaders) => Promise<unknown> | undefined) {
    this.copies = next.copies === true
    this.#next = next
    this.#observe = observe
  }

  head(status: number, headers: RawHeaders): void {
    const removal = this.#observe(status, headers)
    if (!removal) {
      this.#next.head(status, headers)
      return
    }
    this.#held = []
    void removal.then(() => this.#release(status, headers))
  }

  data(chunk: Buffer): boolean {
    if (!this.#held) return this.#next.data(chunk)
    this.#held.push(this.copies ? Buffer.from(chunk) : chunk)
    return false
  }

  end(trailers?: RawHeaders): void {
    if (this.#held) this.#end = { trailers }
    else this.#next.end(trailers)
  }

  fail(error: unknown): void {
    this.#held = undefined
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
    this.#next.onDrain(listener)
  }

  #release(status: number, headers: RawHeaders): void {
    const held = this.#held
    if (!held) return
    this.#held = undefined
    try {
      this.#next.head(status, headers)
      let accepts = true
      for (const chunk of held) accepts = this.#next.data(chunk)
      if (this.#end) this.#next.end(this.#end.trailers)
      else if (accepts && held.length > 0) this.#drained?.()
    } catch (error) {
      this.#next.fail(error)
    }
  }
}
