import type { ProxyConfig } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { Origins } from '../http/origins.js'
import type { ResponseCache } from './cache/cache.js'
import type { Stage } from './response.js'
import type { FindCustomPage } from './custom-pages.js'
import type { Challenges } from './challenge/challenges.js'
import type { Trust } from './client/client-address.js'
import type { FieldDeps } from '../rules/fields/source.js'
import type { TrustedFields } from '../rules/fields/trusted.js'
import type { MemoryBudget } from '../core/memory-budget.js'
import type { TurnQueue } from '../core/turn-queue.js'
import type { IssuedCertificates } from '../tls/acme/issued.js'
import type { ProxyMetrics } from './metrics.js'
import type { AccessLog } from './records/access-log.js'
import type { Recorder } from './records/recorder.js'
import type { Tracer } from '../telemetry/tracer.js'
import type { ZoneMetrics } from './zone-metrics.js'
import type { WorkerSites } from './worker-sites.js'
import type { Zones } from './zones.js'

/** State shared by all requests of one proxy. The object lives as long as the proxy; a reload changes its members. */
export interface ProxyContext {
  config: ProxyConfig
  trusted: Trust
  trustedFields: TrustedFields
  /** The log has the warning about X-Forwarded-For from a peer that is not trusted. */
  forwardedReported: boolean
  /** Ports of the listeners. */
  ports(): { readonly http: number; readonly https: number | undefined }
  /** The proxy is stopping: each connection is closed after its current response. */
  draining: boolean
  /** Source of location fields in expressions. */
  readonly fields: FieldDeps
  /** Memory budget for the beginnings of request bodies and the rest of responses while they wait for a slow peer. */
  readonly bufferMemory: MemoryBudget
  /** Memory budget for the bodies that rules read. */
  readonly bodyMemory: MemoryBudget
  readonly zones: Zones
  /** Undefined: the zone's origin sends every response. */
  readonly workers: WorkerSites | undefined
  readonly origins: Origins
  /** Shares the event loop between connections that transfer much data. */
  readonly turns: TurnQueue
  /** Undefined: nothing is cached. */
  readonly cache: ResponseCache | undefined
  readonly stages: readonly Stage[]
  /** Undefined: no rule challenges clients, and no path is reserved for solutions. */
  readonly challenges: Challenges | undefined
  /** Pages of the owners of sites instead of those of the proxy; undefined: none. */
  readonly customPages: FindCustomPage | undefined
  /** Undefined: log records are not consumed. */
  readonly recorder: Recorder | undefined
  /** Undefined: no request is traced. */
  readonly tracer: Tracer | undefined
  /** Undefined: finished requests are not logged. */
  readonly accessLog: AccessLog | undefined
  /** Responses to validations of ACME, if present. */
  readonly issued: Pick<IssuedCertificates, 'authorization' | 'find' | 'challenge'> | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ProxyMetrics
  readonly zoneMetrics: ZoneMetrics
}
