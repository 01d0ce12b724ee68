import type { RawHeaders } from '../../http/headers.js'
import type { ResponseSink } from '../exchange/response.js'
import type { Payment } from './payments.js'

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
  readonly #payment: Payment
  /** Stores the receipt. */
  readonly #charge: (status: number) => Promise<void>
  #isHolding = false
  #held: Buffer[] = []
  #ending: { readonly trailers: RawHeaders | undefined } | undefined
  #isOver = false
  #isDecided = false
  #drained = (): void => {}

  constructor(next: ResponseSink, payment: Payment, charge: (status: number) => Promise<void>) {
    this.#next = next
    this.#payment = payment
    this.#charge = charge
    next.onDrain(() => {
      if (!this.#isHolding) this.#drained()
    })
  }

  head(status: number, headers: RawHeaders): void {
    this.#isDecided = true
    const kept = withoutPrices(headers)
    if (status < 200 || status > 299) {
      this.#payment.release()
      this.#next.head(status, kept)
      return
    }
    this.#isHolding = true
    this.#charge(status).then(
      () => this.#charged(status, kept),
      (error: unknown) => {
        this.#payment.release()
        this.fail(error)
      },
    )
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
    if (!this.#isDecided) this.#payment.release()
    this.#isOver = true
    this.#held = []
    this.#next.fail(error)
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
  }

  #charged(status: number, headers: readonly string[]): void {
    if (this.#isOver) return
    this.#isHolding = false
    // A receipt must not be used for another request by a cache behind us.
    this.#next.head(status, [
      ...headers.filter((_, at) => headers[at - (at % 2)]!.toLowerCase() !== 'cache-control'),
      'crawler-charged',
      this.#payment.price.text,
      'cache-control',
      'private, no-store',
    ])
    let isOpen = true
    for (const chunk of this.#held) isOpen = this.#next.data(chunk) && isOpen
    this.#held = []
    if (this.#ending) this.#next.end(this.#ending.trailers)
    else if (isOpen) this.#drained()
  }
}
