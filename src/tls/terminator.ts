import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { ClientCertificate } from '../core/client-certificate.js'
import { BEGINNINGS, TurnQueue } from '../core/schedule/turn-queue.js'
import type { Certificate, TlsVersion } from './certificates.js'
import { clientCertificate, type ClientAuthority } from './client-authority.js'
import { MAX_HELLO_BYTES, parseClientHello, type ClientHello } from './client-hello.js'
import type { HelloFingerprint } from './hello-fingerprint.js'

/** Protocol of validations by tls-alpn-01 (RFC 8737, 4). */
const ACME_PROTOCOL = 'acme-tls/1'

/** Time for a client to close its side after an alert. */
const ALERT_MS = 1000

/** The fatal alert `unrecognized_name` as a record of its own (RFC 8446, 6; RFC 6066, 3). */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112])

/** Protocols above TLS that a listener offers. */
export type AlpnProtocol = 'h2' | 'http/1.1'

/** A connection after its handshake. */
export interface SecureConnection {
  readonly socket: TLSSocket
  /** The socket below TLS. Only it can reset the connection. */
  readonly transport: Socket
  /** `TLSv1.2` or `TLSv1.3`. */
  readonly version: string
  /** OpenSSL's name, such as `TLS_AES_128_GCM_SHA256`. */
  readonly cipher: string
  /** Chosen by ALPN. */
  readonly protocol: AlpnProtocol
  /** Bytes of the ClientHello message. */
  readonly helloBytes: number
  readonly fingerprint: HelloFingerprint
  /** The name that the client asked for, in lower case. */
  readonly serverName: string | undefined
  /** Undefined if no certificate was asked for. */
  readonly client: ClientVerification | undefined
}

/** The request for a client certificate, and its result. */
export interface ClientVerification {
  readonly authority: ClientAuthority
  /** Undefined if the client presented none. */
  readonly certificate: ClientCertificate | undefined
}

export interface TerminatorOptions {
  /** Returns the certificate for a server name, or a promise that the handshake waits for. Called at each handshake. */
  certificate(serverName: string | undefined): Certificate | undefined | Promise<Certificate | undefined>
  /** Returns the certificate that answers a challenge for a name (RFC 8737). */
  challenge(serverName: string): Certificate | undefined
  minVersion(serverName: string | undefined): TlsVersion
  /** Returns the authority of client certificates. Undefined if clients are not asked for a certificate. */
  clientAuthority(serverName: string | undefined): ClientAuthority | undefined
  /** Returns the protocols for a server name, the preferred one first. */
  protocols(serverName: string | undefined): readonly AlpnProtocol[]
  /** Milliseconds for the whole handshake, ClientHello included. */
  handshakeTimeout(): number
  /** 48 bytes for session tickets, shared by all processes and machines that resume each other's sessions. */
  ticketKeys(): Buffer
}

/** Reason for the end of a connection before its handshake was complete. */
export type HandshakeFailure = 'timeout' | 'not_tls' | 'no_certificate' | 'rejected'

/** The end of a handshake in progress. */
interface HandshakeRun {
  /** Returns false if it has ended already. */
  readonly end: () => boolean
  readonly fail: (failure: HandshakeFailure) => void
  /** A certificate is being ordered. */
  readonly waits: () => void
}

export interface TerminatorEvents {
  secured(connection: SecureConnection): void
  failed(failure: HandshakeFailure): void
}

/**
 * Terminates TLS on sockets that a plain server accepted. The ClientHello is read first and put back, because the
 * certificate and the lowest version of the zone must be known before the handshake begins. A context from
 * `SNICallback` does not set its minimum version.
 */
export class TlsTerminator {
  readonly #options: TerminatorOptions
  readonly #events: TerminatorEvents
  readonly #pending = new Set<Socket>()
  /**
   * A handshake takes about 1 ms of CPU. A thousand concurrent handshakes must not stop everything else for a second.
   */
  readonly #turns: TurnQueue

  constructor(options: TerminatorOptions, events: TerminatorEvents, turns = new TurnQueue(BEGINNINGS)) {
    this.#options = options
    this.#events = events
    this.#turns = turns
  }

  /** Takes over a new connection. Reports it as secured or failed, unless the client leaves first. */
  accept(transport: Socket): void {
    this.#pending.add(transport)
    let isWaiting = false
    const timer = setTimeout(() => fail(isWaiting ? 'no_certificate' : 'timeout'), this.#options.handshakeTimeout())
    timer.unref()
    const end = (): boolean => {
      clearTimeout(timer)
      transport.off('readable', read)
      return this.#pending.delete(transport)
    }
    const fail = (failure: HandshakeFailure): void => {
      if (!end()) return
      this.#events.failed(failure)
      if (failure !== 'no_certificate') return void transport.destroy()
      transport.once('close', () => clearTimeout(closing))
      const closing = setTimeout(() => transport.destroy(), ALERT_MS)
      closing.unref()
      // The client closes after the alert. Its bytes are read until then, because unread bytes would reset the connection.
      transport.on('error', () => undefined)
      transport.resume()
      transport.end(UNRECOGNIZED_NAME)
    }
    let received: Buffer = Buffer.alloc(0)
    const read = (): void => {
      const chunk = transport.read() as Buffer | null
      if (chunk === null) return
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const hello = parseClientHello(received)
      if (hello === 'incomplete' && received.length < MAX_HELLO_BYTES) return
      if (typeof hello === 'string') return fail('not_tls')
      transport.off('readable', read)
      transport.unshift(received)
      const handshake = (): void => {
        if (!this.#pending.has(transport)) return
        const started = performance.now()
        const run = { end, fail, waits: () => (isWaiting = true) }
        if (hello.protocols.includes(ACME_PROTOCOL)) this.#prove(transport, hello, run)
        else this.#handshake(transport, hello, run)
        // The runtime reads the ClientHello, the expensive part, in a tick that the handshake has just added.
        process.nextTick(() => this.#turns.spend(performance.now() - started))
      }
      if (this.#turns.open) handshake()
      else this.#turns.add(handshake)
    }
    transport.on('readable', read)
    transport.once('error', end)
    transport.once('end', () => fail('rejected'))
    transport.once('close', end)
  }

  /** Ends the handshakes in progress. Secured connections are not affected. */
  close(): void {
    for (const transport of this.#pending) transport.destroy()
  }

  /**
   * Responds to the validation of an authority with a handshake with the challenge's certificate, and then ends the
   * connection (RFC 8737, 3).
   */
  #prove(transport: Socket, { serverName }: ClientHello, { end, fail }: HandshakeRun): void {
    const certificate = serverName === undefined ? undefined : this.#options.challenge(serverName)
    if (!certificate) return fail('no_certificate')
    const secureContext = certificate.context('1.2', this.#options.ticketKeys())
    const socket = new TLSSocket(transport, { isServer: true, secureContext, ALPNProtocols: [ACME_PROTOCOL] })
    const rejected = (): void => {
      fail('rejected')
      socket.destroy()
    }
    socket.on('error', rejected)
    socket.on('_tlsError', rejected)
    socket.once('secure', () => {
      end()
      socket.end()
    })
  }

  #handshake(transport: Socket, hello: ClientHello, run: HandshakeRun): void {
    const found = this.#options.certificate(hello.serverName)
    if (!found) return run.fail('no_certificate')
    if (!(found instanceof Promise)) return this.#secure(transport, hello, found, run)
    const later = (certificate: Certificate | undefined): void => {
      if (!this.#pending.has(transport)) return
      if (certificate) this.#secure(transport, hello, certificate, run)
      else run.fail('no_certificate')
    }
    // Without a certificate in time the client gets the same alert.
    run.waits()
    found.then(later, () => later(undefined))
  }

  #secure(
    transport: Socket,
    { serverName, length, fingerprint }: ClientHello,
    certificate: Certificate,
    { end, fail }: HandshakeRun,
  ): void {
    const options = this.#options
    const authority = options.clientAuthority(serverName)
    const secureContext = certificate.context(options.minVersion(serverName), options.ticketKeys(), authority)
    const socket = new TLSSocket(transport, {
      isServer: true,
      secureContext,
      ALPNProtocols: [...options.protocols(serverName)],
      requestCert: authority !== undefined,
      // Rules decide about clients without a valid certificate.
      rejectUnauthorized: false,
    })
    const rejected = (): void => {
      fail('rejected')
      socket.destroy()
    }
    socket.on('error', rejected)
    socket.on('_tlsError', rejected)
    socket.once('secure', () => {
      if (!end()) return void socket.destroy()
      socket.off('error', rejected)
      socket.off('_tlsError', rejected)
      // `tls.Server` does the same; `node:http2` waits for it.
      ;(socket as unknown as { secureConnecting: boolean }).secureConnecting = false
      const { name: cipher } = socket.getCipher()
      this.#events.secured({
        socket,
        transport,
        version: socket.getProtocol() ?? '',
        cipher,
        protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1',
        helloBytes: length,
        fingerprint,
        serverName,
        client: authority && { authority, certificate: clientCertificate(socket, authority) },
      })
    })
  }
}
