import type { ProxyConfig } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { Origins } from '../http/origins.js'
import type { Stage } from './response.js'
import type { Challenges } from './challenge/challenges.js'
import type { Trust } from './client/client-address.js'
import type { FieldDeps } from '../rules/fields/source.js'
import type { TrustedFields } from '../rules/fields/trusted.js'
import type { MemoryBudget } from '../core/memory-budget.js'
import type { ProxyMetrics } from './metrics.js'
import type { Recorder } from './records/recorder.js'
import type { WorkerSites } from './worker-sites.js'
import type { Zones } from './zones.js'

/** What every request finds around it. One object for the life of the proxy; a reload changes its members. */
export interface ProxyContext {
  config: ProxyConfig
  trusted: Trust
  trustedFields: TrustedFields
  /** The proxy is about to stop: connections end with the answer that they are at. */
  draining: boolean
  /** For the fields of expressions. */
  readonly fields: FieldDeps
  /** For the beginnings of request bodies and the rest of responses while they wait for a slow side. */
  readonly bufferMemory: MemoryBudget
  /** For the bodies that rules read. */
  readonly bodyMemory: MemoryBudget
  readonly zones: Zones
  /** Undefined: every answer is the zone's origin's. */
  readonly workers: WorkerSites | undefined
  readonly origins: Origins
  readonly stages: readonly Stage[]
  /** Undefined: no rule challenges visitors, and no path is theirs. */
  readonly challenges: Challenges | undefined
  /** Undefined: nobody takes log records. */
  readonly recorder: Recorder | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: ProxyMetrics
}
