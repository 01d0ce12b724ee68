import type { RawHeaders } from './answer.js'
import type { CustomHostname, Served, Settings, Zone } from './zones.js'

/** What is known of a request when it has been read and its zone found. */
export interface Arrival {
  readonly rayId: string
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly served: Served
  readonly method: string
  readonly target: string
  readonly httpVersion: string
  readonly rawHeaders: RawHeaders
  readonly headers: string[]
  readonly startedAt: number
  readonly startedMonotonic: number
}

/** One request and all that was decided about it. */
export class Exchange {
  /** 16 hexadecimal digits; in the answer's `cf-ray` and in every log line. */
  readonly rayId: string
  /** The visitor's address: the peer's, or what trusted proxies say it is. */
  readonly clientAddress: string
  /** As the visitor used it. */
  readonly scheme: 'http' | 'https'
  readonly zone: Zone
  /** The host asked for: lower case, without port. */
  readonly host: string
  readonly custom: CustomHostname | undefined
  readonly method: string
  /** Origin form, path and query exactly as sent; `*` for a server-wide OPTIONS. */
  readonly target: string
  readonly httpVersion: string
  /** The fields as the client sent them. */
  readonly rawHeaders: RawHeaders
  /** The fields as the origin gets them; open to changes until the request goes out. */
  headers: string[]
  /** In force for this request. Rules replace the object, they never change it. */
  settings: Settings
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** On the clock's `monotonic` scale. */
  readonly startedMonotonic: number
  /** When the answer's head came from the origin, on the same scale; undefined before, or where there was none. */
  originAt: number | undefined
  /** Status that the client got; 0 before that, 499 when it left without one. */
  status = 0
  /** Status of the origin's own answer; 0 without one. */
  originStatus = 0
  /** Bytes of the body as sent to the client. */
  bytes = 0

  constructor(arrival: Arrival) {
    const { zone, host, custom } = arrival.served
    this.rayId = arrival.rayId
    this.clientAddress = arrival.clientAddress
    this.scheme = arrival.scheme
    this.zone = zone
    this.host = host
    this.custom = custom
    this.method = arrival.method
    this.target = arrival.target
    this.httpVersion = arrival.httpVersion
    this.rawHeaders = arrival.rawHeaders
    this.headers = arrival.headers
    this.settings =
      custom && zone.customHostnames === 'all' && zone.plan !== 'free'
        ? { ...zone.settings, content_converter: true }
        : zone.settings
    this.startedAt = arrival.startedAt
    this.startedMonotonic = arrival.startedMonotonic
  }
}
