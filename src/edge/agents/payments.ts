import { createHash } from 'node:crypto'
import { priceOf, type Price } from '../../agents/access/access.js'
import type { VerifiedSignature } from '../../agents/signatures/verify.js'
import { headerValues, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import type { SpentSignatures } from './spent-signatures.js'

/** A response in place of the page. */
export interface Refusal {
  readonly status: 400 | 402
  readonly headers: RawHeaders
  readonly body: Buffer
}

/** A request that pays if its response is a success. */
export class Payment {
  readonly price: Price
  readonly signature: VerifiedSignature
  /** The signature stays spent: the request is charged, or its receipt is being stored. */
  isCharged = false
  #release: (() => Promise<void>) | undefined

  constructor(price: Price, signature: VerifiedSignature, release: () => Promise<void>) {
    this.price = price
    this.signature = signature
    this.#release = release
  }

  /** Ends the payment. Resolves when the signature can pay for another request, unless this one is charged. */
  async end(): Promise<void> {
    if (this.isCharged) return
    const release = this.#release
    this.#release = undefined
    await release?.()
  }
}

/** Decides about requests that have to be paid. One signature pays once. */
export class Payments {
  readonly #spent: SpentSignatures

  constructor(spent: SpentSignatures) {
    this.#spent = spent
  }

  /**
   * Returns the payment that a request offers, or the response to a request that offers none that fits. The payment is a promise,
   * which has the response if the signature has paid before. It rejects if that is not known now.
   */
  judge(
    { rawHeaders, agent }: Pick<Exchange, 'rawHeaders' | 'agent'>,
    price: Price,
  ): Promise<Payment | Refusal> | Refusal {
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
    if (!signature?.covered.has(field)) return refusal(402, 'StrongAuthRequired', price)
    return this.#spend(signature, price)
  }

  async #spend(signature: VerifiedSignature, price: Price): Promise<Payment | Refusal> {
    const id = createHash('sha256').update(`${signature.keyid} ${signature.signature}`).digest('base64url')
    const reason = await this.#spent.spend(id, signature.expires)
    if (reason !== undefined) return refusal(402, 'StrongAuthRequired', price)
    return new Payment(price, signature, async () => await this.#spent.release(id))
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
