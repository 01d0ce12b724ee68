import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { ProxyConfig } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Bind } from '../../http/listen.js'
import type { Zone } from '../exchange/zones.js'
import type { IssuedCertificates } from '../../tls/acme/issued.js'
import { RecentNames } from '../../tls/recent-names.js'
import type { Certificate, TlsVersion } from '../../tls/certificates.js'
import { WatchedCertificates } from '../../tls/certificate-files.js'
import { HTTP2_VERSIONS, http2IsOn } from './http2-support.js'
import { TlsTerminator, type AlpnProtocol, type SecureConnection } from '../../tls/terminator.js'

const WITH_HTTP2: readonly AlpnProtocol[] = ['h2', 'http/1.1']
const HTTP1_ONLY: readonly AlpnProtocol[] = ['http/1.1']

/** A name without a certificate is reported at most this often. */
const REPORT_MS = 60_000
/** A certificate is asked for at most this often if it can be ordered at the handshake. */
const ASK_MS = 1000
const MAX_NAMES = 1000

type TlsConfig = NonNullable<ProxyConfig['tls']>

export interface TlsListenerDeps {
  readonly clock: Clock
  readonly log: Log
  /** Certificates and challenges of ACME, if present. */
  readonly issued?: Pick<IssuedCertificates, 'find' | 'challenge'> | undefined
  /**
   * Reports a handshake for a served name without a certificate. Resolves after the certificate was ordered, if the
   * options allow that.
   */
  readonly demand?: ((name: string) => Promise<unknown>) | undefined
  /** Makes a server listen on an address. */
  readonly bind: Bind
  /** Returns 48 bytes for session tickets. They are the same on all machines of an installation and are replaced daily. */
  ticketKeys(): Buffer
  /** Milliseconds. */
  handshakeTimeout(): number
  /** Calls `handshake` when the TLS handshake of a new connection may begin. */
  accept(transport: Socket, handshake: () => void): void
  secured(connection: SecureConnection): void
  /** Returns the zone of a server name, or undefined if no zone has it. */
  zone(serverName: string): Pick<Zone, 'https' | 'clientAuthority'> | undefined
  handshakeFailed(): void
}

/** The HTTPS listener. It terminates TLS and passes on connections after their handshake. */
export class TlsListener {
  #bound = { address: '', port: 0 }
  #config: TlsConfig
  #server: Server | undefined
  #certificates: WatchedCertificates
  readonly #deps: TlsListenerDeps
  readonly #terminator: TlsTerminator
  /** Names without a certificate that the daemon knows of. */
  readonly #reported = new RecentNames({ forMs: REPORT_MS, max: MAX_NAMES })
  readonly #asked = new RecentNames({ forMs: ASK_MS, max: MAX_NAMES })
  /** Certificates that are being ordered. Handshakes wait for them. */
  readonly #pending = new Map<string, Promise<Certificate | undefined>>()

  private constructor(config: TlsConfig, certificates: WatchedCertificates, deps: TlsListenerDeps) {
    this.#config = config
    this.#certificates = certificates
    this.#deps = deps
    this.#terminator = new TlsTerminator(
      {
        certificate: (name) => this.#certificate(name),
        challenge: (name) => deps.issued?.challenge(name),
        minVersion: (name) => this.#minVersion(name),
        protocols: (name) => this.#protocols(name),
        clientAuthority: (name) => (name === undefined ? undefined : deps.zone(name)?.clientAuthority),
        handshakeTimeout: () => deps.handshakeTimeout(),
        ticketKeys: () => deps.ticketKeys(),
      },
      { secured: (connection) => deps.secured(connection), failed: () => deps.handshakeFailed() },
    )
  }

  /** Loads the certificates and starts to listen. Rejects with the file or the address that cannot be used. */
  static async open(config: TlsConfig, deps: TlsListenerDeps): Promise<TlsListener> {
    const certificates = await WatchedCertificates.open(config.certificates, deps)
    const listener = new TlsListener(config, certificates, deps)
    try {
      await listener.#listen(config.listen)
    } catch (error) {
      certificates.close()
      throw error
    }
    if (config.http2 === 'auto' && !http2IsOn('auto'))
      deps.log.warn(
        { event: 'http2_off', nghttp2: process.versions['nghttp2'] },
        `this version of Node.js has a crash in HTTP/2 (CVE-2026-27135): use Node.js ${HTTP2_VERSIONS}, or set proxy.tls.http2 to on`,
      )
    return listener
  }

  /** The higher one of the listener's and the zone's. */
  #minVersion(name: string | undefined): TlsVersion {
    const { min_version: common } = this.#config
    return common === '1.3' || name === undefined ? common : (this.#deps.zone(name)?.https.minVersion ?? common)
  }

  #protocols(name: string | undefined): readonly AlpnProtocol[] {
    if (!http2IsOn(this.#config.http2)) return HTTP1_ONLY
    return name !== undefined && this.#deps.zone(name)?.https.http2 === false ? HTTP1_ONLY : WITH_HTTP2
  }

  get address(): string {
    return this.#bound.address
  }

  get port(): number {
    return this.#bound.port
  }

  /**
   * Applies new options. Open connections continue. Rejects, and changes nothing, if a file or the address cannot be
   * used.
   */
  async reconfigure(config: TlsConfig): Promise<void> {
    const certificates = await WatchedCertificates.open(config.certificates, this.#deps)
    if (config.listen !== this.#config.listen) {
      const replaced = this.#server
      try {
        await this.#listen(config.listen)
      } catch (error) {
        certificates.close()
        throw error
      }
      replaced?.close()
    }
    this.#certificates.close()
    this.#certificates = certificates
    this.#config = config
  }

  /** Stops listening. Connections and handshakes in progress continue. */
  close(): void {
    this.#server?.close()
    this.#certificates.close()
  }

  /**
   * A certificate of a file takes precedence over a certificate issued by ACME. The first file's is for clients that ask
   * for no name, for an IP address, or for a name that no zone serves. A served name without a certificate is asked for once in a while.
   */
  #certificate(name: string | undefined): Certificate | undefined | Promise<Certificate | undefined> {
    const { table } = this.#certificates
    if (name === undefined) return table.first
    const file = table.named(name)
    if (file) return file
    const found = this.#deps.issued?.find(name)
    const now = this.#deps.clock.now()
    const isOnDemand = this.#config.acme?.on_demand !== undefined
    if (found && !(isOnDemand && found.isDue(now))) return found
    if (!this.#deps.zone(name)) return found ?? table.first
    const asked = isOnDemand ? this.#ask(name) : undefined
    if (!isOnDemand) this.#report(name)
    // A renewal delays no handshake.
    return found && found.notAfter > now ? found : (asked ?? found)
  }

  /** Asks for a certificate that is ordered now. Undefined if it was asked for a moment ago. */
  #ask(name: string): Promise<Certificate | undefined> | undefined {
    const { demand, issued, clock } = this.#deps
    const pending = this.#pending.get(name)
    if (pending || !demand || !this.#asked.add(name, clock.monotonic())) return pending
    const answer = demand(name)
      .catch(() => undefined)
      .then(() => issued?.find(name))
      .finally(() => this.#pending.delete(name))
    this.#pending.set(name, answer)
    return answer
  }

  #report(name: string): void {
    const { demand, clock } = this.#deps
    if (demand && this.#reported.add(name, clock.monotonic())) demand(name).catch(() => undefined)
  }

  /** Ends the handshakes in progress, for a proxy that stops. */
  endHandshakes(): void {
    this.#terminator.close()
  }

  async #listen(address: string): Promise<void> {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (transport) => {
      this.#deps.accept(transport, () => this.#terminator.accept(transport))
    })
    await this.#deps.bind(server, address, 'proxy_tls')
    server.on('error', (error) => this.#deps.log.error({ event: 'listener_failed', error: error.message }))
    this.#server = server
    this.#bound = server.address() as AddressInfo
  }
}
