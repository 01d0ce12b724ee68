import type { Price } from '../../agents/access/access.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ResponseSink } from '../exchange/response.js'

/** Fields that only the edge may send. */
const OURS: ReadonlySet<string> = new Set(['crawler-charged', 'crawler-price', 'crawler-error'])

/** Returns the fields without those about prices. */
function withoutPrices(headers: RawHeaders): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2)
    if (!OURS.has(headers[at]!.toLowerCase())) kept.push(headers[at]!, headers[at + 1]!)
  return kept
}

/** Charges a successful response: its head is sent after the receipt is stored. */
export class ChargedResponse implements ResponseSink {
  readonly #next: ResponseSink
  readonly #price: Price
  readonly #charge: (status: number) => Promise<void>
  readonly #end: () => Promise<void>
  #isHolding = false
  #held: Buffer[] = []
  #ending: { readonly trailers: RawHeaders | undefined } | undefined
  #isOver = false
  #drained = (): void => {}

  /**
   * `charge` stores the receipt of a response with a status. `end` ends the payment of a response that is not charged, and never
   * rejects.
   */
  constructor(
    next: ResponseSink,
    price: Price,
    { charge, end }: { charge: (status: number) => Promise<void>; end: () => Promise<void> },
  ) {
    this.#next = next
    this.#price = price
    this.#charge = charge
    this.#end = end
    next.onDrain(() => {
      if (!this.#isHolding) this.#drained()
    })
  }

  head(status: number, headers: RawHeaders): void {
    const kept = withoutPrices(headers)
    this.#isHolding = true
    void this.#settle(status, kept).catch((error: unknown) => this.fail(error))
  }

  data(chunk: Buffer): boolean {
    if (!this.#isHolding) return this.#next.data(chunk)
    this.#held.push(chunk)
    return false
  }

  end(trailers?: RawHeaders): void {
    if (this.#isHolding) this.#ending = { trailers }
    else this.#next.end(trailers)
  }

  fail(error: unknown): void {
    this.#isOver = true
    this.#held = []
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
  }

  async #settle(status: number, headers: string[]): Promise<void> {
    const isSuccess = status >= 200 && status <= 299
    // The client may use its signature again as soon as it has a response that is not charged.
    await (isSuccess ? this.#charge(status) : this.#end())
    this.#send(status, isSuccess ? this.#charged(headers) : headers)
  }

  /** A receipt must not be used for another request by a cache behind us. */
  #charged(headers: readonly string[]): string[] {
    const kept = headers.filter((_, at) => headers[at - (at % 2)]!.toLowerCase() !== 'cache-control')
    return [...kept, 'crawler-charged', this.#price.text, 'cache-control', 'private, no-store']
  }

  #send(status: number, headers: RawHeaders): void {
    if (this.#isOver) return
    this.#isHolding = false
    this.#next.head(status, headers)
    let isOpen = true
    for (const chunk of this.#held) isOpen = this.#next.data(chunk) && isOpen
    this.#held = []
    if (this.#ending) this.#next.end(this.#ending.trailers)
    else if (isOpen) this.#drained()
  }
}
