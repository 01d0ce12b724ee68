import { HeldBytes, type MemoryBudget } from '../../core/memory/memory-budget.js'
import type { RawHeaders } from '../../http/headers.js'
import { BytesSource } from './bytes-source.js'
import type { ResponseSink } from './response.js'

/** A response with its whole body. */
export interface Whole {
  readonly status: number
  readonly headers: RawHeaders
  readonly body: Buffer
}

export interface WholeOptions {
  readonly memory: MemoryBudget
  /** A longer body passes unchanged. */
  readonly maxBytes: number
  /** Returns whether a response with this head is changed. */
  readonly accepts: (status: number, headers: RawHeaders) => boolean
  /** Returns the response that is sent. */
  readonly change: (response: Whole) => Whole
  /** The response is one to HEAD: its body is not known. */
  readonly isHead: boolean
}

/** Buffers a short response and sends another one that depends on it. */
export class WholeResponse implements ResponseSink {
  readonly copies: boolean
  readonly #next: ResponseSink
  readonly #options: WholeOptions
  readonly #held: HeldBytes
  #head: { readonly status: number; readonly headers: RawHeaders } | undefined
  #source: BytesSource | undefined

  constructor(next: ResponseSink, options: WholeOptions) {
    this.copies = next.copies === true
    this.#next = next
    this.#options = options
    this.#held = new HeldBytes(options.memory)
  }

  head(status: number, headers: RawHeaders): void {
    if (this.#options.accepts(status, headers)) this.#head = { status, headers }
    else this.#next.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    if (!this.#head) return this.#next.data(chunk)
    if (this.#held.length + chunk.length <= this.#options.maxBytes && this.#held.append(chunk)) return true
    const { status, headers } = this.#head
    this.#head = undefined
    this.#next.head(status, headers)
    let isOpen = true
    for (let held = this.#held.shift(); held; held = this.#held.shift()) isOpen = this.#next.data(held) && isOpen
    return this.#next.data(chunk) && isOpen
  }

  end(trailers?: RawHeaders): void {
    if (!this.#head) return this.#next.end(trailers)
    const parts: Buffer[] = []
    for (let held = this.#held.shift(); held; held = this.#held.shift()) parts.push(Buffer.from(held))
    this.#held.release()
    const { status, headers, body } = this.#options.change({ ...this.#head, body: Buffer.concat(parts) })
    this.#next.head(status, headers)
    this.#source = new BytesSource(this.#next, this.#options.isHead ? [] : body)
  }

  fail(error: unknown): void {
    this.#source?.stop()
    this.#held.release()
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    if (!this.#source) this.#next.onDrain(listener)
  }
}
