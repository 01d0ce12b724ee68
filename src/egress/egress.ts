import type { Agent as HttpAgent } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'

/** The destination is not allowed. One text for every reason, so that it reveals nothing about the private network. */
export class NotPublic extends Error {
  override readonly name = 'NotPublic'

  constructor() {
    super('the destination address is not allowed; the operator can allow it with egress.allow_cidrs')
  }
}

export interface AgentOptions {
  /** Maximum concurrent connections to one host and port; default 4. */
  readonly maxSockets?: number
  /** False only if the operator allows destinations without a verified certificate. */
  readonly rejectUnauthorized?: boolean
}

/** Connections of one destination; never shared with another one. */
export interface GuardedAgents {
  readonly http: HttpAgent
  readonly https: HttpsAgent
  /** Releases connections as soon as no request is in flight on them; accepts no new requests. */
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
 * Egress of the daemon to webhooks and log destinations: public addresses only, and those that the configuration
 * allows.
 */
export interface Egress {
  /**
   * Checks whether a host (a name or an address, without brackets) and port may be reached. Rejects with {@link
   * NotPublic}.
   */
  check(host: string, port: number): Promise<void>
  /** Creates agents that check the current addresses of every new connection. Destroy them when done. */
  agents(options?: AgentOptions): GuardedAgents
  /**
   * Opens a connection for other protocols than HTTP, checked in the same way; with TLS it resolves after the
   * handshake.
   */
  connect(options: ConnectOptions): Promise<Socket>
}
