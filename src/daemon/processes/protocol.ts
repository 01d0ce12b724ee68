/**
 * Calls between the daemon and its proxy processes. All arguments and results are plain data. Records are JSON texts,
 * and rules are compiled in the process that runs them.
 */
import type { JobTarget } from '../../../pipelines/logpush/job-manager.js'
import type { FrameParts } from '../../../pipelines/logpush/spool/types.js'
import type { Config } from '../../config/schema.js'
import type { Scope } from '../../core/scope.js'
import type { DiskOperation, DiskStart } from '../../edge/cache/files/owner.js'
import type { Unspendable } from '../../edge/agents/spent-signatures.js'
import type { Invalidated } from '../../edge/cache/invalidation.js'
import type { Bound } from '../../edge/serve/proxy-parts.js'
import type { HistoryPart } from '../../history/part.js'
import type { ListenerName } from '../../http/listen.js'
import type { LimitState } from '../../rules/limits/limiter.js'
import type { Cut } from '../../workers/runtime/types.js'
import type { EdgeConfig } from '../proxy/edge.js'
import type { Channel, PassedHandle } from './channel.js'
import type { CountSegment } from './count-file.js'
import type { MetricPart, MetricRequest } from './metric-changes.js'
import type { EnteredRuntime } from '../workers/runtime-slots.js'
import type { ZoneSlice } from './zone-slices.js'

/** The options that a proxy process needs. */
export type ProcessConfig = EdgeConfig & Pick<Config, 'data' | 'store' | 'egress' | 'log'>

/** The zones are sent before, in slices. */
export type SlicedConfig = Omit<ProcessConfig, 'zones'>

/** One record of the store: name, version and JSON; no JSON for a deleted one. */
export type RecordRow = readonly [name: string, version: number, json: string | undefined]

/** Everything that a process needs before its snapshot. */
export interface ProcessStart {
  /** From 1; a process that replaces another one has its number. */
  readonly number: number
  readonly processes: number
  readonly config: SlicedConfig
  readonly challengeKeys: readonly Uint8Array[]
  readonly certificateKeys: readonly Uint8Array[]
  readonly ticketKeys: Uint8Array
  /** Ports of the daemon's other listeners. */
  readonly ports: readonly number[]
  readonly wanted: readonly JobTarget[]
  /** Counts of rate limits, and the files with later ones. */
  readonly counts: { readonly state: readonly LimitState[]; readonly segments: readonly CountSegment[] }
  /** Files of the response cache. Undefined without `cache.disk`. */
  readonly cacheDisk: DiskStart | undefined
  /** The daemon runs scripts of Workers. */
  readonly runsWorkers: boolean
}

/** The listeners of a process. */
export interface Listening {
  readonly proxy: Bound
  readonly tls: Bound | undefined
}

/** Calls of the daemon on a process. */
export interface ProcessCalls {
  /** Part of the zones for `start` or `reconfigure`. */
  readonly zones: [ZoneSlice, void]
  readonly start: [ProcessStart, void]
  /** Part of the snapshot. */
  readonly load: [readonly RecordRow[], void]
  /** The snapshot is complete: creates the tables. */
  readonly open: [undefined, void]
  readonly listen: [undefined, Listening]
  /** One batch of the store. In force when it resolves. */
  readonly changes: [readonly RecordRow[], void]
  readonly want: [readonly JobTarget[], void]
  /** Removes cached responses that another process or machine found to be outdated. */
  readonly invalidate: [readonly Invalidated[], void]
  /** Appends counts to a file from now on, or stops reading one. */
  readonly useCounts: [string, void]
  readonly forgetCounts: [string, void]
  readonly challengeKeys: [readonly Uint8Array[], void]
  readonly ticketKeys: [Uint8Array, void]
  readonly reconfigure: [{ readonly config: SlicedConfig; readonly ports: readonly number[] }, Listening]
  /** Opens the access log again. */
  readonly reopenLogs: [undefined, void]
  readonly metrics: [MetricRequest, MetricPart]
  /** Sends the counts of requests so far. Resolves when the daemon has them. */
  readonly flushHistory: [undefined, void]
  /** Stops listening, finishes requests and sends the remaining log records. */
  readonly drain: [undefined, void]
}

/** An event of a process that the owner of the cache files counts. */
export type CacheFileReport =
  | readonly ['settle', bytes: number, name: string | undefined, isReserve: boolean]
  | readonly ['hit', name: string]
  | readonly ['removed', name: string, reason: 'purge' | 'invalid']
  | readonly ['failed', operation: DiskOperation, code: string, message: string]

/** Calls of a process on the daemon. */
export interface DaemonCalls {
  readonly listener: [{ readonly name: ListenerName; readonly address: string }, PassedHandle]
  readonly records: [{ readonly dataset: string; readonly scope: Scope; readonly frames: readonly FrameParts[] }, void]
  readonly history: [readonly HistoryPart[], void]
  readonly blob: [string, Uint8Array | undefined]
  /** `left`: requests that have ended, by the ids of their slots. */
  readonly enterRuntime: [
    { readonly scope: Scope; readonly id: string; readonly left: readonly number[] },
    EnteredRuntime,
  ]
  /** Reserves bytes for a file of the response cache. */
  readonly reserveCacheFile: [{ readonly bytes: number; readonly mayWait: boolean }, boolean]
  readonly cacheFiles: [readonly CacheFileReport[], void]
  /** Resolves when all other processes have removed these cached responses. */
  readonly invalidated: [readonly Invalidated[], void]
  /** A client asked for a served name without a certificate. Resolves after it was ordered, if that is possible. */
  readonly demandCertificate: [string, void]
  /** Records that a signature pays for a request, or releases it. */
  readonly spendSignature: [{ readonly id: string; readonly expires: number }, Unspendable | undefined]
  readonly releaseSignature: [string, void]
  readonly cutRuntime: [number, Cut]
  /** An exception of the script ended the request. */
  readonly runtimeThrew: [{ readonly id: number; readonly rayId: string }, void]
  readonly leaveRuntime: [readonly number[], void]
}

/** The connection to the daemon, in a proxy process. */
export type DaemonChannel = Channel<DaemonCalls, ProcessCalls>
