import type { Value } from '../../expr/index.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { ClientTls, HttpVersion, LocalEnd } from '../../rules/types.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { UnreadFields } from './unread/unread-fields.js'
import type { CustomHostname, Served, Zone } from './zones.js'

/** TLS facts of a request's connection. */
type ArrivalTls = ClientTls & Pick<SecureConnection, 'serverName' | 'client'>

/** Facts about a request after it was read and its zone found. */
export interface Arrival {
  /** 16 hexadecimal digits, in `cf-ray` of the response and in every log line. */
  readonly rayId: string
  /** The client's address. This is the peer's address, or the address that trusted proxies report. */
  readonly clientAddress: string
  /** Undefined if a proxy in front of this one ended the client's connection, so that the port is not known. */
  readonly clientPort?: number | undefined
  /** Key that the client's use of shared resources is counted under. Undefined for a trusted proxy itself. */
  readonly clientShare?: string | undefined
  /** The scheme that the client used. */
  readonly scheme: 'http' | 'https'
  readonly served: Served
  readonly method: string
  /** Origin form, path and query exactly as sent; `*` for a server-wide OPTIONS. */
  readonly target: string
  readonly httpVersion: HttpVersion
  /** The fields as the client sent them. Needed without `unread`. */
  readonly rawHeaders?: RawHeaders | undefined
  /** The fields for the origin. Needed without `unread`. */
  readonly headers?: string[] | undefined
  /** The fields before anything reads them as lists. */
  readonly unread?: UnreadFields | undefined
  /** The listener that received the request. */
  readonly local: LocalEnd
  readonly tls: ArrivalTls | undefined
  /** Fields of the rules language that a trusted proxy reported, by name. */
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** On the clock's `monotonic` scale. */
  readonly startedMonotonic: number
}

/** The facts of a request that do not change after it arrived. {@link Arrival} describes them. */
export class ArrivedRequest {
  readonly rayId: string
  readonly clientAddress: string
  readonly clientPort: number | undefined
  readonly clientShare: string | undefined
  readonly scheme: 'http' | 'https'
  readonly zone: Zone
  /** The requested host in lower case, without port. */
  readonly host: string
  readonly custom: CustomHostname | undefined
  readonly method: string
  /** `target` of the arrival. */
  readonly rawTarget: string
  readonly httpVersion: HttpVersion
  readonly local: LocalEnd
  readonly tls: ArrivalTls | undefined
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  readonly startedAt: number
  readonly startedMonotonic: number
  /** Undefined if the lists of fields were given. */
  readonly #unread: UnreadFields | undefined
  #rawHeaders: RawHeaders | undefined
  #headers: string[] | undefined

  constructor(arrival: Arrival) {
    const { zone, host, custom } = arrival.served
    this.rayId = arrival.rayId
    this.clientAddress = arrival.clientAddress
    this.clientPort = arrival.clientPort
    this.clientShare = arrival.clientShare
    this.scheme = arrival.scheme
    this.zone = zone
    this.host = host
    this.custom = custom
    this.method = arrival.method
    this.rawTarget = arrival.target
    this.httpVersion = arrival.httpVersion
    this.local = arrival.local
    this.tls = arrival.tls
    this.trustedFields = arrival.trustedFields
    this.startedAt = arrival.startedAt
    this.startedMonotonic = arrival.startedMonotonic
    this.#unread = arrival.unread
    this.#rawHeaders = arrival.rawHeaders
    this.#headers = arrival.headers
  }

  get rawHeaders(): RawHeaders {
    return (this.#rawHeaders ??= this.#unread!.received())
  }

  /** The fields for the origin. They may change until the request is sent. */
  get headers(): string[] {
    return (this.#headers ??= this.#unread!.forOrigin())
  }

  set headers(fields: string[]) {
    this.#headers = fields
  }

  /** The fields for the origin, if nothing has read or changed the list. */
  get unread(): UnreadFields | undefined {
    return this.#headers === undefined ? this.#unread : undefined
  }

  /** Host as the origin gets it, before anything changes it. */
  get originHost(): string {
    return this.unread?.host ?? headerOf(this.headers, 'host') ?? ''
  }

  /** Host as the client sent it, in any spelling. */
  get hostField(): string {
    return this.unread?.host ?? headerOf(this.rawHeaders, 'host') ?? ''
  }

  /** Returns the first value of a field as the client sent it, by its lower-case name. Not for Host. */
  rawField(name: string): string | undefined {
    return this.#rawHeaders === undefined ? this.#unread!.find(name) : headerOf(this.#rawHeaders, name)
  }

  /** Returns the first value of a request field for the origin, by its lower-case name. Not for fields that the proxy sets. */
  field(name: string): string | undefined {
    const { unread } = this
    return unread ? unread.find(name) : headerOf(this.headers, name)
  }

  /** Accept as the client sent it; several fields joined with commas. */
  get accept(): string | undefined {
    return this.#unread === undefined ? acceptOf(this.rawHeaders) : this.#unread.accept
  }
}

function acceptOf(headers: RawHeaders): string | undefined {
  let accept: string | undefined
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    if (name.length !== 6 || name.toLowerCase() !== 'accept') continue
    accept = accept === undefined ? headers[i + 1]! : `${accept}, ${headers[i + 1]!}`
  }
  return accept
}
