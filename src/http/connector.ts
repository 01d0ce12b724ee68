import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'

/** A peer that vanished without a word is noticed after this and some probes. */
const PROBE_AFTER_MS = 60_000

/** Opens connections to one origin. */
export class Connector {
  readonly tls: boolean
  readonly #host: string
  readonly #port: number
  readonly #serverName: string | undefined
  readonly #ca: string | undefined
  /** Made at first need and only once: reading a few hundred certificates takes milliseconds. */
  #context: SecureContext | undefined
  /** Of the last connection, so that the next one has less to agree on. */
  #session: Buffer | undefined

  /** `ca`: PEM of an authority to trust in addition; `serverName`: what the certificate has to name; default: the host. */
  constructor(url: string, ca: string | undefined, serverName: string | undefined) {
    const { protocol, hostname, port } = new URL(url)
    this.tls = protocol === 'https:'
    this.#host = plain(hostname)
    this.#port = Number(port) || (this.tls ? 443 : 80)
    this.#ca = ca
    const name = plain(serverName ?? hostname)
    // RFC 6066, 3: an address is no server name.
    this.#serverName = isIP(name) ? undefined : name
  }

  /** What a connected socket tells, when TLS is agreed on. */
  get connected(): 'connect' | 'secureConnect' {
    return this.tls ? 'secureConnect' : 'connect'
  }

  /** Begins to connect. With `onread` the socket has no `data`: what comes is read into the same memory again and again. */
  open(onread?: OnReadOpts): Socket {
    const options = {
      host: this.#host,
      port: this.#port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
      ...(onread && { onread }),
    }
    if (!this.tls) return connectTcp(options)
    const ca = this.#ca
    this.#context ??= createSecureContext(ca === undefined ? {} : { ca: [...rootCertificates, ca] })
    const socket = connectTls({
      ...options,
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
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

/** Without the brackets of an IPv6 address. */
const plain = (host: string): string => host.replace(/^\[|\]$/g, '')
