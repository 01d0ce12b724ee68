import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.js'
import { parseIp, type Budget, type Bytes, type Ip, type RequestView } from '../../expr/index.js'
import type { RawHeaders } from '../../http/headers.js'
import type { GeoLocation, GeoLookup, RuleExchange } from '../types.js'
import { boundaryOf, partsOf, type Part } from './multipart.js'

/** Dependencies of the fields of all requests. */
export interface FieldDeps {
  readonly clock: Clock
  readonly geo: GeoLookup
}

/** Source of the fields of one request, for all its phases. */
export class FieldSource implements RequestView {
  readonly exchange: RuleExchange
  readonly #parts: FieldDeps
  #place: GeoLocation | undefined
  #seed: Bytes | undefined
  #multipart: readonly Part[] | undefined

  constructor(exchange: RuleExchange, parts: FieldDeps) {
    this.exchange = exchange
    this.#parts = parts
  }

  get method(): Bytes {
    return this.exchange.method.toUpperCase()
  }

  get version(): Bytes {
    return `HTTP/${this.exchange.httpVersion}`
  }

  get secure(): boolean {
    return this.exchange.scheme === 'https'
  }

  /**
   * The host by which the zone was found, in lower case, without port and without a dot at the end. With the host as
   * written, a rule on a host would miss a request that writes the same host in another way, and the request would
   * still be served.
   */
  get host(): Bytes {
    const { host } = this.exchange
    return host.includes(':') ? `[${host}]` : host
  }

  get target(): Bytes {
    return this.exchange.seenTarget
  }

  get rawTarget(): Bytes {
    return this.exchange.rawTarget
  }

  get headers(): RawHeaders {
    return this.exchange.rawHeaders
  }

  get clientIp(): Ip | undefined {
    return ipOf(this.exchange.clientAddress)
  }

  get receivedAt(): number {
    return Math.floor(this.exchange.startedAt)
  }

  get body(): { readonly bytes: Bytes; readonly size: number } | undefined {
    return this.exchange.body
  }

  /** The client's location. */
  get place(): GeoLocation {
    this.#place ??= this.#parts.geo.find(this.exchange.clientAddress)
    return this.#place
  }

  /** Random bytes, the same for the whole request. */
  get seed(): Bytes {
    this.#seed ??= randomBytes(16).toString('latin1')
    return this.#seed
  }

  /** Returns the parts of a multipart body. Undefined if the body was not read. */
  multipart(budget: Budget): readonly Part[] | undefined {
    const { body, rawHeaders } = this.exchange
    if (body === undefined) return undefined
    if (this.#multipart === undefined) {
      const boundary = boundaryOf(rawHeaders)
      this.#multipart = boundary === undefined ? [] : partsOf(body.bytes, boundary, budget)
    }
    return this.#multipart
  }

  /** Milliseconds since the request arrived. */
  get elapsed(): number {
    return this.#parts.clock.monotonic() - this.exchange.startedMonotonic
  }

  /** Milliseconds from forwarding the request to the origin to the head of its response; 0 if there is none. */
  get originTime(): number {
    const { sentAt: originSentAt, respondedAt: originAt } = this.exchange.origin
    return originSentAt === undefined || originAt === undefined ? 0 : originAt - originSentAt
  }
}

/** Returns an address of a socket. An address of a local network names its interface after a percent sign. */
export function ipOf(address: string | undefined): Ip | undefined {
  if (address === undefined) return undefined
  const zone = address.indexOf('%')
  return parseIp(zone === -1 ? address : address.slice(0, zone))
}
