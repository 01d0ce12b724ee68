import type { RawHeaders } from '../../http/headers.js'
import type { ResponseSink } from '../response.js'

/** URLs of a zone, from `storedUrls`, whose stored responses are not valid any more. */
export interface Invalidated {
  readonly zone: string
  readonly urls: readonly string[]
}

/**
 * The response to an unsafe request. If it succeeded, what is stored for its URLs is removed, and the client gets the
 * response after that: a request that it sends then cannot get an old response from another process.
 */
export class InvalidatingSink implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #observe: (status: number, headers: RawHeaders) => Promise<unknown> | undefined
  /** Chunks that wait for the removal. The source waits after the first one. */
  #held: Buffer[] | undefined
  #end: { readonly trailers: RawHeaders | undefined } | undefined
  #drained: (() => void) | undefined

  /** `observe` removes the responses; undefined: that is complete. It never rejects. */
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
