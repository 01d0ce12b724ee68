import { priceOf, type Price } from '../../agents/access/access.js'
import type { VerifiedSignature } from '../../agents/signatures/verify.js'
import type { Clock } from '../../core/clock.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'

/** Signatures that have paid and are not expired. */
const MAX_USED = 100_000

/** A response in place of the page. */
export interface Refusal {
  readonly status: 400 | 402
  readonly headers: RawHeaders
  readonly body: Buffer
}

/** A request that pays if its response is a success. */
export interface Payment {
  readonly price: Price
  readonly signature: VerifiedSignature
  /** The request is not charged: its signature may pay for another one. */
  release(): void
}

/** Decides about requests that have to be paid. One signature pays once. */
export class Payments {
  readonly #clock: Pick<Clock, 'now'>
  /** By key and signature, until when the signature is valid, in seconds. */
  readonly #used = new Map<string, number>()

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** Returns the payment that a request offers, or the response to a request that offers none that fits. */
  judge({ rawHeaders, agent }: Pick<Exchange, 'rawHeaders' | 'agent'>, price: Price): Payment | Refusal {
    const exact = headerValues(rawHeaders, 'crawler-exact-price')
    const max = headerValues(rawHeaders, 'crawler-max-price')
    if (exact.length + max.length === 0) return refusal(402, 'MissingCrawlerPrice', price)
    if (exact.length > 0 && max.length > 0) return refusal(400, 'ConflictingPriceHeaders')
    const offers = exact.length > 0 ? exact : max
    const offer = offers.length === 1 ? priceOf(offers[0]!) : undefined
    if (offer === undefined) return refusal(400, 'InvalidCrawlerPriceValue')
    const fits =
      offer.currency === price.currency &&
      (exact.length > 0 ? offer.millionths === price.millionths : offer.millionths >= price.millionths)
    if (!fits) return refusal(402, exact.length > 0 ? 'InvalidCrawlerExactPrice' : 'InvalidCrawlerMaxPrice', price)
    const field = exact.length > 0 ? 'crawler-exact-price' : 'crawler-max-price'
    const signature = agent?.signature
    const release = signature?.covered.has(field) ? this.#reserve(signature) : undefined
    if (signature === undefined || release === undefined) return refusal(402, 'StrongAuthRequired', price)
    return { price, signature, release }
  }

  /** Reserves a signature. Returns undefined if it was used, or if too many are remembered. */
  #reserve({ keyid, signature, expires }: VerifiedSignature): (() => void) | undefined {
    const id = `${keyid} ${signature}`
    if (this.#used.has(id)) return undefined
    if (this.#used.size >= MAX_USED) this.#forgetExpired()
    if (this.#used.size >= MAX_USED) return undefined
    this.#used.set(id, expires)
    return () => this.#used.delete(id)
  }

  #forgetExpired(): void {
    // A signature is accepted for a while after it expires, because clocks differ.
    const now = this.#clock.now() / 1000 - 60
    for (const [id, expires] of this.#used) if (expires < now) this.#used.delete(id)
  }
}

function refusal(status: 400 | 402, error: string, price?: Price): Refusal {
  const body = Buffer.from(
    price === undefined
      ? `${error}\n`
      : `${error}\nThis page costs ${price.text}. Sign the request (Web Bot Auth) with crawler-exact-price or crawler-max-price among its components.\n`,
  )
  return {
    status,
    headers: [
      'content-type',
      'text/plain; charset=utf-8',
      'cache-control',
      'no-store',
      'crawler-error',
      error,
      ...(price === undefined ? [] : ['crawler-price', price.text]),
    ],
    body,
  }
}
