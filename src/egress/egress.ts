import type { Agent as HttpAgent } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import type { Socket } from 'node:net'

/** The destination may not be reached. One text for every reason, so that it tells nothing about what is inside. */
export class NotPublic extends Error {
  override readonly name = 'NotPublic'

  constructor() {
    super('the destination is not publicly reachable')
  }
}

export interface AgentOptions {
  /** Connections to one host and port at a time; 4 unless told. */
  readonly maxSockets?: number
  /** False only where the operator allows destinations without a verified certificate. */
  readonly rejectUnauthorized?: boolean
}

/** Connections of one destination; never shared with another one. */
export interface GuardedAgents {
  readonly http: HttpAgent
  readonly https: HttpsAgent
  /** Lets go of connections as soon as nothing is under way on them; no new requests then. */
  retire(): void
  /** Ends all connections. */
  destroy(): void
}

export interface ConnectOptions {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly rejectUnauthorized?: boolean
  /** Until the connection stands, TLS included. */
  readonly timeoutMs: number
  /** Gives up a connection that does not stand yet. */
  readonly signal?: AbortSignal
}

/** The way out of the daemon, to webhooks and log destinations: public addresses only, and what the configuration opens. */
export interface Egress {
  /** Whether a host (a name or an address, without brackets) and port may be reached now. Rejects with {@link NotPublic}. */
  check(host: string, port: number): Promise<void>
  /** Agents that check the addresses of every new connection, as they are when it is made. Destroy them when done. */
  agents(options?: AgentOptions): GuardedAgents
  /** A connection for what is not HTTP, checked in the same way; with TLS once the handshake is over. */
  connect(options: ConnectOptions): Promise<Socket>
}
