import type { AgentIdentity } from '../../agents/identity.js'
import type { ProxyConfig } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { Emitter } from '../../core/emit.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Arrivals } from '../../core/schedule/turn-queue.js'
import type { ConnectorDeps } from '../../http/connector.js'
import type { Bind } from '../../http/listen.js'
import type { Tracer } from '../../telemetry/tracer.js'
import type { IssuedCertificates } from '../../tls/acme/issued.js'
import type { PageIndex } from '../agents/mcp/page-index.js'
import type { SpentSignatures } from '../agents/spent-signatures.js'
import type { ResponseCache } from '../cache/cache.js'
import type { Challenges } from '../challenge/challenges.js'
import type { TlsListenerDeps } from '../client/tls-listener.js'
import type { FindCustomPage } from '../exchange/custom-pages.js'
import type { FinishedObserver } from '../exchange/finished.js'
import type { Geo } from '../exchange/geo.js'
import type { Stage } from '../exchange/response.js'
import type { WorkerSites } from '../exchange/worker-sites.js'
import type { Zones } from '../exchange/zones.js'
import type { AccessLog } from '../records/access-log.js'

/** Dependencies of the proxy. */
export interface ProxyParts {
  /** Read at the beginning of each request; replace `current` to change the zones. */
  readonly zones: Zones
  /** Stages that responses pass, the one nearest to the client first. */
  readonly stages?: readonly Stage[]
  /** Recognizes AI agents and crawlers. */
  readonly agents?: AgentIdentity
  /** Receives solutions, before all rules; without it such posts are forwarded to the origin. */
  readonly challenges?: Challenges
  /** Finds pages that replace the pages of the proxy. */
  readonly customPages?: FindCustomPage
  /** Locations of clients; without it rules do not have them. */
  readonly geo?: Geo
  /** Resolves names of origins, and decides where hosts named through the API may lead. */
  readonly dial: ConnectorDeps
  /** Receives the log records of requests; without it none are created. */
  readonly emitter?: Emitter
  /** Traces requests, if present. */
  readonly tracer?: Tracer
  /** Receives finished requests, if present. */
  readonly accessLog?: AccessLog
  /** Called with each finished request, in this order. */
  readonly observers?: readonly FinishedObserver[]
  /** Responds instead of origins, if present. */
  readonly workers?: WorkerSites
  /** Stores responses of origins, if present. */
  readonly cache?: ResponseCache
  /** Words of the pages that MCP servers of sites find; without it sites have no MCP server. */
  readonly pages?: PageIndex
  /** The version of edged, for agents. */
  readonly version?: string
  /** 48 bytes for TLS session tickets, replaced daily; required for HTTPS. */
  readonly ticketKeys?: () => Buffer
  /** Certificates and challenges of ACME, if present. */
  readonly issued?: IssuedCertificates
  /** Receives the served names that clients ask for and that have no certificate. See {@link TlsListenerDeps}. */
  readonly demand?: TlsListenerDeps['demand']
  /** Signatures that have paid. Default: the memory of this proxy. */
  readonly spent?: SpentSignatures
  /** Counts the connections that are accepted, if present. */
  readonly arrivals?: Arrivals
  /** Returns whether new connections are closed because no descriptor is free for them. */
  readonly isFull?: () => boolean
  /** Makes a server listen; default: `bind`. */
  readonly bind?: Bind
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Address and port of a listener. */
export interface Bound {
  readonly address: string
  readonly port: number
}

/** A running proxy. */
export interface Proxy extends Bound {
  /** The HTTPS listener. Undefined without the section `proxy.tls`. */
  readonly tls: Bound | undefined
  /** Number of finished requests whose zone was found. */
  readonly responses: number
  /**
   * Applies new options without dropping a request. Rejects, and retains the old ones, if a new address is not free.
   */
  reconfigure(config: ProxyConfig): Promise<void>
  /** Stops listening, lets requests finish within `drain_timeout`, then ends the remaining ones. */
  close(): Promise<void>
}
