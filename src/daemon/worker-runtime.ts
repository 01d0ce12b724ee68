import { join } from 'node:path'
import type { Config } from '../config/schema.js'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Emitter } from '../core/emit.js'
import type { Log } from '../core/log.js'
import { WORKER_SCRIPTS, WORKER_VERSIONS } from '../core/model/worker.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'
import type { Vault } from '../core/vault.js'
import type { Zones } from '../edge/zones.js'
import type { Egress } from '../egress/egress.js'
import type { Tails } from '../../control/workers/services/tail-sessions.js'
import { PACKAGE_ROOT, WORKERD_VERSION } from '../package.js'
import { findWorkerd, howToInstall } from '../workers/runtime/binary.js'
import { CronScheduler } from '../workers/runtime/cron.js'
import { isObserved, observe } from '../workers/runtime/observability.js'
import { ANALYTICS_DATASET, analyticsResource } from '../workers/runtime/resources/analytics.js'
import { emailResource } from '../workers/runtime/resources/email.js'
import { tailResource } from '../workers/runtime/resources/tail.js'
import { ratelimitResource } from '../workers/runtime/resources/ratelimit.js'
import { kvResource } from '../workers/runtime/resources/kv.js'
import { r2Resource } from '../workers/runtime/resources/r2.js'
import type { ResourceHandler } from '../workers/runtime/resource-server.js'
import { Runtime } from '../workers/runtime/runtime.js'
import type { ScriptRepository } from '../workers/script-repository.js'
import { KeyValues, MAX_KEYS } from '../workers/storage/key-values.js'
import { ObjectUploads } from '../workers/storage/object-uploads.js'
import { Objects } from '../workers/storage/objects.js'
import { Queues } from '../workers/storage/queues.js'
import { QueueConsumers } from '../workers/runtime/queue-consumers.js'
import { queueResource } from '../workers/runtime/resources/queue.js'
import { TRACE_DATASET, traceRecord } from '../workers/runtime/trace-record.js'
import { assetsResource } from './worker-assets.js'
import type { DataHomes } from '../workers/runtime/data-homes.js'
import type { RuntimeOfDaemon } from './processes/runtime-slots.js'
import { cacheResource } from './worker-cache.js'
import { openMailer } from './worker-mail.js'
import { outboundServer } from './worker-outbound.js'
import type { WorkerRegistry } from './worker-registry.js'

/** Deliveries of queues that take longer are cut at a stop, and made again at the next start. */
const MAX_CLOSE_MS = 10_000
const CONNECT_TIMEOUT_MS = 10_000

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
  /** Undefined: no other machine uses the store. */
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
export const runtimeBinary = ({ workers }: Pick<Config, 'workers'>): string | undefined =>
  workers.runtime === 'off' ? undefined : findWorkerd()

/** Starts the deployed scripts. Undefined if scripts are switched off or its package is not installed. */
export async function openRuntime(config: Config, parts: RuntimeParts): Promise<RunningWorkers | undefined> {
  const { store, repository, vault, blobs, egress, zones, workers, tails, emitter, homes, clock, log } = parts
  const binary = runtimeBinary(config)
  if (binary === undefined) {
    log.info({
      event: 'workers_do_not_run',
      reason: config.workers.runtime === 'off' ? 'workers.runtime is off' : howToInstall(PACKAGE_ROOT, WORKERD_VERSION),
    })
    return undefined
  }
  const values = new KeyValues({ store, blobs: () => blobs, clock }, MAX_KEYS)
  const queues = new Queues({ store, blobs: () => blobs, clock })
  const objects = new Objects({ store, blobs: () => blobs, clock })
  const resources = new Map<string, ResourceHandler>([
    ['kv', kvResource({ store, clock, values })],
    ['ratelimit', ratelimitResource(clock)],
    ['assets', assetsResource(workers, blobs)],
    ['r2', r2Resource(objects, new ObjectUploads({ store, clock, objects }))],
    ['queue', queueResource(queues)],
    ['cache', cacheResource({ clock, maxBytes: config.workers.cache_bytes })],
    [
      'tail',
      tailResource({
        send(scope, script, event) {
          tails.send(scope, script, event)
          const stored = store.get(WORKER_SCRIPTS, scope, script)?.value
          if (stored) observe(log, { scope, script: stored }, event)
          if (stored?.logpush && emitter.wants(TRACE_DATASET, scope))
            emitter.emit(TRACE_DATASET, scope, traceRecord(event, stored))
        },
        lost(scope, count) {
          workers.metrics.tracesLost(count)
          log.warn({ event: 'worker_traces_lost', account: scope.id, count })
        },
      }),
    ],
  ])
  const mailer = openMailer(config.workers.email, log)
  resources.set(
    'email',
    emailResource(async (call, mail) => await mailer.send(call, mail)),
  )
  resources.set(
    'analytics',
    analyticsResource((scope, record) => {
      if (emitter.wants(ANALYTICS_DATASET, scope)) emitter.emit(ANALYTICS_DATASET, scope, record())
    }),
  )
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
    outbound: (scope) => outboundServer({ zones, workers, egress, log }, scope),
    isTraced: (scope, script) => script.logpush || isObserved(script) || tails.has(scope, script),
    maxStallMs: () => config.workers.max_stall,
  })
  const stopped = (scope: Scope, script: string): string | undefined => runtime.failure(scope, script)
  const cron = new CronScheduler({
    store,
    clock,
    log,
    isHere: (scope, script) => runtime.runsHere(scope, script),
    stopped,
    skipped: () => workers.metrics.scheduleSkipped(),
    call: async (scope, script, event) => await runtime.call(scope, script, 'scheduled', event),
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
    call: async (scope, script, event) => await runtime.call(scope, script, 'queue', event),
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
