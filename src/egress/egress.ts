import type { Agent as HttpAgent } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'

/**
 * The destination is not allowed, or its name does not resolve. One text for every address that is not allowed, so that it
 * reveals nothing about the private network.
 */
export class NotPublic extends Error {
  override readonly name = 'NotPublic'

  /** `unresolved` is the name that has no address. `entry` allows an address that the user wrote. */
  constructor({ unresolved, entry }: { readonly unresolved?: string; readonly entry?: string | undefined } = {}) {
    super(
      unresolved === undefined
        ? `the destination address is not allowed; the operator can allow it with egress.allow_cidrs${entry === undefined ? ', and finds the entry in the log (destination_denied)' : `: ["${entry}"]`}`
        : `the name ${unresolved} does not resolve to an address; check its spelling and its DNS records`,
    )
  }
}

export interface AgentOptions {
  /** Maximum concurrent connections to one host and port. The default is 4. */
  readonly maxSockets?: number
  /** False only if the operator allows destinations without a verified certificate. */
  readonly rejectUnauthorized?: boolean
}

/** Connections of one destination. Never shared with another one. */
export interface GuardedAgents {
  readonly http: HttpAgent
  readonly https: HttpsAgent
  /** Releases connections as soon as no request is in flight on them. Accepts no new requests. */
  retire(): void
  /** Ends all connections. */
  destroy(): void
}

export interface ConnectOptions {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly rejectUnauthorized?: boolean
  /** Maximum time to open the connection, TLS included. */
  readonly timeoutMs: number
  /** Cancels a connection that is not open yet. */
  readonly signal?: AbortSignal
}

/**
 * Egress of the daemon to webhooks and log destinations. Allows only public addresses and addresses that the
 * configuration allows.
 */
export interface Egress {
  /**
   * Checks whether a host (a name or an address, without brackets) and port may be reached. Rejects with {@link
   * NotPublic}.
   */
  check(host: string, port: number): Promise<void>
  /**
   * Returns the entry of `egress.allow_cidrs` that allows a host and port. Undefined if none is needed or can allow it, and for
   * names, because their addresses are not shown.
   */
  entryFor?(host: string, port: number): string | undefined
  /** Creates agents that check the current addresses of every new connection. Destroy them when done. */
  agents(options?: AgentOptions): GuardedAgents
  /**
   * Opens a connection for protocols other than HTTP, checked in the same way. With TLS, it resolves after the
   * handshake.
   */
  connect(options: ConnectOptions): Promise<Socket>
}
