import type { LookupAddress } from 'node:dns'
import { connect as connectTcp, isIP, type LookupFunction, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import { TargetDenied } from './origin-errors.js'

/** Idle time before probes that detect a peer that vanished silently. */
const PROBE_AFTER_MS = 60_000

/**
 * Returns all addresses of a name. `zone` is the zone of the request, so that one zone's slow names delay no other
 * zone.
 */
export type ResolveName = (name: string, zone: string) => Promise<readonly string[]>

/** Destination of a request. */
export interface OriginTarget {
  /** Scheme, host and port; `unix:/path` for a unix socket. */
  readonly url: string
  /** Maximum connections. Undefined for the common limit. */
  readonly connections?: number | undefined
  /** PEM of an authority to trust in addition. */
  readonly ca?: string | undefined
  /** The name that the certificate must have. Undefined for the host of the URL. */
  readonly serverName?: string | undefined
  /** The certificate is not checked. */
  readonly unverified?: boolean
  /** The host or port was named through the API, and not by the configuration, so the guard decides. */
  readonly named?: true | undefined
}

/** Decides where targets that were named through the API may lead. */
export interface DialGuard {
  /** Stays the same value while nothing changed. */
  readonly rules: object
  allows(address: string, port: number): boolean
  resolve: ResolveName
}

/** Dependencies of the connectors of one proxy. */
export interface ConnectorDeps {
  readonly resolve: ResolveName
  readonly guard: DialGuard
}

/** Opens connections to one origin. */
export class Connector {
  readonly tls: boolean
  /** Path of a unix socket. Undefined for a host and port. */
  readonly #path: string | undefined
  readonly #host: string
  readonly #port: number
  readonly #serverName: string | undefined
  readonly #ca: string | undefined
  readonly #unverified: boolean
  /** Created when first needed, because reading a few hundred certificates takes milliseconds. */
  #context: SecureContext | undefined
  /** Session of the last connection, which shortens the next handshake. */
  #session: Buffer | undefined
  readonly #guard: DialGuard | undefined
  readonly #rules: object | undefined
  readonly #lookup: LookupFunction

  constructor(
    { url, ca, serverName, named, unverified = false }: OriginTarget,
    deps: ConnectorDeps & { readonly zone: string },
  ) {
    const { protocol, hostname, port, pathname } = new URL(url)
    this.#path = protocol === 'unix:' ? decodeURIComponent(pathname) : undefined
    this.tls = protocol === 'https:'
    this.#host = plain(hostname)
    this.#port = Number(port) || (this.tls ? 443 : 80)
    this.#ca = ca
    this.#unverified = unverified
    const certified = plain(serverName ?? hostname)
    // By RFC 6066, 3, an address is not a server name.
    this.#serverName = isIP(certified) ? undefined : certified
    this.#guard = named && deps.guard
    this.#rules = this.#guard?.rules
    this.#lookup = lookupOf(async (asked) => {
      const addresses = await (this.#guard ?? deps).resolve(asked, deps.zone)
      for (const address of addresses) this.#check(address)
      return addresses
    })
  }

  /** Returns whether the rules of the guard have changed since. */
  get outdated(): boolean {
    return this.#guard?.rules !== this.#rules
  }

  #check(address: string): void {
    if (this.#guard && !this.#guard.allows(address, this.#port)) throw new TargetDenied(this.#host, address, this.#port)
  }

  /** Facts about a connected socket, after the TLS handshake. */
  get connected(): 'connect' | 'secureConnect' {
    return this.tls ? 'secureConnect' : 'connect'
  }

  /**
   * Begins to connect. With `onread` the socket has no `data`. Received bytes are read into the same memory repeatedly.
   * The connection begins with `preamble`, before TLS.
   */
  open(onread?: OnReadOpts, preamble?: Buffer): Socket {
    if (this.#path !== undefined)
      return begunWith(preamble, connectTcp({ path: this.#path, ...(onread && { onread }) }))
    if (isIP(this.#host)) this.#check(this.#host)
    const options = {
      host: this.#host,
      port: this.#port,
      lookup: this.#lookup,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
      ...(onread && { onread }),
    }
    if (!this.tls) return begunWith(preamble, connectTcp(options))
    const ca = this.#ca
    this.#context ??= createSecureContext(ca === undefined ? {} : { ca: [...rootCertificates, ca] })
    const socket = connectTls({
      ...options,
      ...(preamble && { socket: begunWith(preamble, connectTcp({ ...options, onread: undefined })) }),
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: !this.#unverified,
      ...(this.#serverName !== undefined && { servername: this.#serverName }),
      ...(this.#session && { session: this.#session }),
    })
    socket.setNoDelay(true)
    socket.on('session', (session) => {
      this.#session = session
    })
    return socket
  }
}

/** Returns the socket, which sends these bytes as soon as it is connected, before other listeners know it. */
function begunWith(preamble: Buffer | undefined, socket: Socket): Socket {
  if (preamble) socket.prependOnceListener('connect', () => socket.write(preamble))
  return socket
}

/** Returns an IPv6 address without its brackets. */
const plain = (host: string): string => host.replace(/^\[|\]$/g, '')

/** Returns a lookup function for sockets that returns the addresses from `resolve`. */
function lookupOf(resolve: (name: string) => Promise<readonly string[]>): LookupFunction {
  const lookup = callbackify(async (name: string, family: unknown): Promise<LookupAddress[]> => {
    const addresses = await resolve(name)
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const wanted = family === 4 || family === 6 ? found.filter((each) => each.family === family) : found
    if (wanted.length === 0) throw Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' })
    return wanted
  })
  return (name, { all, family }, callback) => {
    lookup(name, family, (error, addresses) => {
      if (error) callback(error, '', 0)
      else if (all) callback(null, addresses)
      else callback(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}
