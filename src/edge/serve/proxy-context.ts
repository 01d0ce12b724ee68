import type { AgentIdentity } from '../../agents/identity.js'
import type { ProxyConfig } from '../../config/schema.js'
import type { LogRecord } from '../../core/emit.js'
import type { Scope } from '../../core/scope.js'
import type { Payments } from '../agents/payments.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Origins } from '../../http/origins.js'
import type { ResponseCache } from '../cache/cache.js'
import type { Stage } from '../exchange/response.js'
import type { FindCustomPage } from '../exchange/custom-pages.js'
import type { Challenges } from '../challenge/challenges.js'
import type { Trust } from '../client/client-address.js'
import type { FieldDeps } from '../../rules/fields/source.js'
import type { TrustedFields } from '../../rules/fields/trusted.js'
import type { MemoryBudget } from '../../core/memory/memory-budget.js'
import type { TurnQueue } from '../../core/schedule/turn-queue.js'
import type { IssuedCertificates } from '../../tls/acme/issued.js'
import type { FinishedObserver } from '../exchange/finished.js'
import type { InternalGet } from '../client/internal-get.js'
import type { McpSites } from '../agents/mcp/mcp-sites.js'
import type { ProxyMetrics } from './metrics.js'
import type { AccessLog } from '../records/access-log.js'
import type { Recorder } from '../records/recorder.js'
import type { Tracer } from '../../telemetry/tracer.js'
import type { ZoneMetrics } from './zone-metrics.js'
import type { WorkerSites } from '../exchange/worker-sites.js'
import type { Zones } from '../exchange/zones.js'

/** Shared by all stages. A reload replaces `config`. */
interface CommonContext {
  config: ProxyConfig
  readonly clock: Clock
  readonly log: Log
}

/** Input of a request's arrival: zones, and the proxies that may report a client. */
export interface ArrivalContext extends CommonContext {
  trusted: Trust
  trustedFields: TrustedFields
  /** The log has the warning about X-Forwarded-For from a peer that is not trusted. */
  forwardedReported: boolean
  readonly zones: Zones
}

/** Input of the responses before the rules. */
export interface EarlyContext {
  /** Ports of the listeners. */
  ports(): { readonly http: number; readonly https: number | undefined }
  /** Responses to validations of ACME, if present. */
  readonly issued: Pick<IssuedCertificates, 'authorization' | 'find' | 'challenge'> | undefined
  /** Undefined if no rule challenges clients, and no path is reserved for solutions. */
  readonly challenges: Pick<Challenges, 'takes' | 'solved'> | undefined
}

/** Input of the recognition of agents, and of what they may. */
export interface AgentsContext extends CommonContext {
  /** Recognizes AI agents and crawlers. Undefined if none is recognized. */
  readonly agents: AgentIdentity | undefined
  /** Challenges for agents. Undefined if there are none. */
  readonly challengeOf: Pick<Challenges, 'page' | 'clearance'> | undefined
  readonly payments: Payments
  readonly internalGet: InternalGet
  /** Resolves when the receipt of a paid request is stored. */
  readonly saveCharge: (scope: Scope, record: LogRecord) => Promise<void>
}

/** Input of the request phases of rules. */
export interface RulesContext extends CommonContext {
  /** Source of location fields in expressions. */
  readonly fields: FieldDeps
  /** Memory budget for the bodies that rules read. */
  readonly bodyMemory: MemoryBudget
}

/** Input of the end of the way down: Workers, the cache and origins. */
interface OriginContext extends CommonContext {
  /** MCP servers of sites. Undefined if there are none. */
  readonly mcp: Pick<McpSites, 'serve'> | undefined
  /** The version of edged. */
  readonly version: string
  /** Undefined if the zone's origin sends every response. */
  readonly workers: WorkerSites | undefined
  /** Undefined if nothing is cached. */
  readonly cache: Pick<ResponseCache, 'serve' | 'metrics'> | undefined
  readonly origins: Origins
  /** Shares the event loop between connections that transfer much data. */
  readonly turns: TurnQueue
  /** Memory budget for the beginnings of request bodies and the rest of responses while they wait for a slow peer. */
  readonly bufferMemory: MemoryBudget
}

/** Input of the way up to the client, and of the end of an exchange. */
interface ResponseContext extends CommonContext {
  /** The proxy is stopping: each connection is closed after its current response. */
  draining: boolean
  readonly stages: readonly Stage[]
  /** Finds pages of site owners that replace the pages of the proxy. Undefined if there are no such pages. */
  readonly customPages: FindCustomPage | undefined
  /** Undefined if log records are not consumed. */
  readonly recorder: Pick<Recorder, 'finished'> | undefined
  /** Undefined if no request is traced. */
  readonly tracer: Tracer | undefined
  /** Undefined if finished requests are not logged. */
  readonly accessLog: Pick<AccessLog, 'finished' | 'rejected'> | undefined
  /** Called with each finished request, in this order. */
  readonly observers: readonly FinishedObserver[]
  readonly metrics: ProxyMetrics
  readonly zoneMetrics: Pick<ZoneMetrics, 'finished'>
}

/** State shared by all requests of one proxy. The object lives as long as the proxy; a reload changes its members. */
export interface ProxyContext
  extends ArrivalContext, EarlyContext, AgentsContext, RulesContext, OriginContext, ResponseContext {}
