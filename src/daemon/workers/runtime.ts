import { join } from 'node:path'
import type { Config } from '../../config/schema.js'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import type { Emitter } from '../../core/emit.js'
import type { Log } from '../../core/log.js'
import { WORKER_VERSIONS } from '../../core/model/worker.js'
import type { ContinuedTraces, OutgoingTraces } from '../../core/outgoing-traces.js'
import type { Scope } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import type { Vault } from '../../core/vault.js'
import type { Zones } from '../../edge/exchange/zones.js'
import type { Egress } from '../../egress/egress.js'
import type { Tails } from '../../../control/workers/services/tail-sessions.js'
import { PACKAGE_ROOT, WORKERD_VERSION } from '../../release/package.js'
import { findWorkerd, howToInstall } from '../../workers/runtime/binary.js'
import { CronScheduler } from '../../workers/triggers/cron.js'
import { isObserved } from '../../workers/observability/observability.js'
import { Runtime } from '../../workers/runtime/runtime.js'
import type { ScriptRepository } from '../../workers/script-repository.js'
import { Queues } from '../../workers/storage/queues.js'
import { QueueConsumers } from '../../workers/triggers/queue-consumers.js'
import type { DataHomes } from '../../workers/runtime/data-homes.js'
import type { RuntimeOfDaemon } from './runtime-slots.js'
import { openMailer } from './mail.js'
import { outboundServer } from './outbound.js'
import type { WorkerRegistry } from './registry.js'
import { workerResources } from './resources.js'

/** Deliveries of queues that take longer are cut at a stop, and made again at the next start. */
const MAX_CLOSE_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000
/** Triggers by the names of OpenTelemetry. */
const TRIGGERS = { scheduled: 'timer', queue: 'pubsub' } as const

/** Folder of Durable Object and D1 data, one folder per account. */
export const workerData = ({ data }: Pick<Config, 'data'>): string => join(data, 'workers')

export interface RuntimeParts {
  readonly store: Store
  readonly repository: ScriptRepository
  readonly vault: Vault
  readonly blobs: Blobs
  readonly egress: Egress
  readonly zones: Zones
  readonly workers: WorkerRegistry
  readonly tails: Tails
  readonly emitter: Emitter
  readonly traces: OutgoingTraces & ContinuedTraces
  /** Undefined if no other machine uses the store. */
  readonly homes: DataHomes | undefined
  readonly clock: Clock
  readonly log: Log
}

/** The runtime and the callers of its scripts. */
export interface RunningWorkers {
  readonly runtime: Runtime
  /** The same for requests of proxy processes. */
  readonly forProcesses: RuntimeOfDaemon
  close(): Promise<void>
}

/** Returns the path of the binary that runs scripts. Undefined if they are switched off or it is not installed. */
const runtimeBinary = ({ workers }: Pick<Config, 'workers'>): string | undefined =>
  workers.runtime === 'off' ? undefined : findWorkerd()

/** Starts the deployed scripts. Undefined if scripts are switched off or its package is not installed. */
export async function openRuntime(config: Config, parts: RuntimeParts): Promise<RunningWorkers | undefined> {
  const { store, repository, vault, blobs, egress, zones, workers, tails, homes, clock, log } = parts
  const binary = runtimeBinary(config)
  if (binary === undefined) {
    log.info({
      event: 'workers_do_not_run',
      reason: config.workers.runtime === 'off' ? 'workers.runtime is off' : howToInstall(PACKAGE_ROOT, WORKERD_VERSION),
    })
    return undefined
  }
  const queues = new Queues({ store, blobs: () => blobs, clock })
  const mailer = openMailer(config.workers.email, log)
  const resources = workerResources({ ...parts, queues, mailer, cacheBytes: config.workers.cache_bytes })
  const runtime = await Runtime.open({
    binary,
    store,
    repository,
    vault,
    connect: async (to) => await egress.connect({ ...to, tls: false, timeoutMs: CONNECT_TIMEOUT_MS }),
    clock,
    log,
    objects: workerData(config),
    homes,
    resources,
    outbound: (scope) => outboundServer({ zones, workers, egress, traces: parts.traces, log }, scope),
    isTraced: (scope, script) => script.logpush || isObserved(script) || tails.has(scope, script),
    maxStallMs: () => config.workers.max_stall,
  })
  const call = async (scope: Scope, script: string, type: 'scheduled' | 'queue', event: object): Promise<unknown> => {
    const span = parts.traces.outgoing(type, { 'edged.worker': script, 'faas.trigger': TRIGGERS[type] })
    try {
      const result = await runtime.call(scope, script, type, event)
      span?.end({ status: 0, succeeded: (result as { outcome?: unknown } | undefined)?.outcome !== 'exception' })
      return result
    } catch (error) {
      span?.end({ status: 0, error: (error as Error).name, succeeded: false })
      throw error
    }
  }
  const stopped = (scope: Scope, script: string): string | undefined => runtime.failure(scope, script)
  const cron = new CronScheduler({
    store,
    clock,
    log,
    isHere: (scope, script) => runtime.runsHere(scope, script),
    stopped,
    skipped: () => workers.metrics.scheduleSkipped(),
    call: async (scope, script, event) => await call(scope, script, 'scheduled', event),
  })
  void cron.start()
  if (!config.store.startsWith('redis')) await queues.release()
  const consumers = new QueueConsumers({
    store,
    queues,
    clock,
    log,
    isHere: (scope, script) => runtime.runsHere(scope, script),
    stopped,
    call: async (scope, script, event) => await call(scope, script, 'queue', event),
  })
  return {
    runtime,
    forProcesses: {
      enter: (scope, version) => {
        const script = store.get(WORKER_VERSIONS, scope, version)?.value.script
        if (script !== undefined && runtime.isQuarantined(scope, script))
          throw new Error(`the Worker ${script} exceeded limits several times`)
        return runtime.enter(scope, version)
      },
    },
    async close() {
      cron.close()
      await Promise.race([consumers.close(), clock.sleep(MAX_CLOSE_MS)])
      await runtime.close()
      mailer.close()
    },
  }
}
