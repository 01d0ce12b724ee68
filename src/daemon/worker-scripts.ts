import { join } from 'node:path'
import type { Tails } from '../../control/workers/services/tail-sessions.js'
import type { WorkersServices } from '../../control/workers/services/index.js'
import type { Config } from '../config/schema.js'
import type { BackupFiles } from '../store/backup/files.js'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { ClosingStack } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import { MemoryBudget } from '../core/memory/memory-budget.js'
import type { Metrics } from '../core/metrics/metrics.js'
import type { Store } from '../core/store.js'
import type { Egress } from '../egress/egress.js'
import type { Keyring } from '../store/secrets/keyring.js'
import { AssetUploads } from '../workers/assets/uploads.js'
import { CodeReader } from '../workers/code/reader.js'
import { startCollector, type Collector } from '../workers/orphan-collector.js'
import { ScriptRepository } from '../workers/script-repository.js'
import { startLifecycle } from '../workers/storage/object-lifecycle.js'
import { ObjectUploads } from '../workers/storage/object-uploads.js'
import { Objects } from '../workers/storage/objects.js'
import type { Edge } from './proxy/edge.js'
import type { LogPush } from './pipelines/logpush.js'
import { dataFiles, objectIds } from './workers/data-files.js'
import { openRuntime, workerData, type RunningWorkers } from './workers/runtime.js'
import { MachineStreams } from './machines/streams.js'
import { WorkerHomeServer, type HomeRuntime } from './machines/home-server.js'
import { WorkerHomes } from './machines/homes.js'

export interface WorkerScriptsDeps {
  /** The configuration in force. */
  readonly config: () => Config
  readonly store: Store
  readonly keys: Keyring
  readonly blobs: Blobs
  readonly egress: Egress
  readonly edge: Edge
  readonly tails: Tails
  readonly logpush: Pick<LogPush, 'emitter' | 'engine' | 'liveSource'>
  /** Name of this machine if others use the same store. */
  readonly machine: string | undefined
  /** Ports that Workers do not reach. */
  readonly ports: Set<number>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Uploaded scripts, with their storage, their services for the API, and the runtime. */
export interface WorkerScripts {
  readonly services: WorkersServices
  /** Undefined if scripts do not run here. */
  readonly running: RunningWorkers | undefined
  /** Returns the databases of this machine for a backup. */
  dataFiles(): BackupFiles
  /** What other machines can ask this one for. Undefined without other machines. */
  readonly sources: WorkerHomeServer['sources'] | undefined
  /** Deletes files that nothing names. */
  readonly collector: Collector
  /** Applies a reloaded configuration. */
  configure(config: Config): void
}

/** What other machines use of a runtime, on a machine without one. */
const NO_SCRIPTS: HomeRuntime = {
  async accept() {
    throw new Error('no scripts run on this machine')
  },
  caughtUp: async () => new Map(),
}

/** Opens the repository of scripts and starts the deployed ones. */
export async function openWorkerScripts(stack: ClosingStack, deps: WorkerScriptsDeps): Promise<WorkerScripts> {
  const { config, store, keys, blobs, egress, edge, tails, logpush, machine, ports, clock, log, metrics } = deps
  const olderThanMs = () => config().workers.retention.orphans
  const collector = stack.use(startCollector({ store, blobs, clock, log, olderThanMs }))
  const objects = new Objects({ store, blobs: () => blobs, clock })
  stack.use(startLifecycle({ store, uploads: new ObjectUploads({ store, clock, objects }), clock, log }))
  const repository = new ScriptRepository({ store, blobs, vault: keys, clock, keep: () => config().workers.retention })
  const assets = new AssetUploads({
    store,
    blobs,
    clock,
    keys: keys.derivedKeys('worker assets'),
    limits: () => config().workers.assets,
  })
  const uploads = new MemoryBudget(config().workers.upload.memory)
  const { zones, workers } = edge
  // Also without scripts: other machines ask for log records and requests of this one.
  const link = machine === undefined ? undefined : { self: machine, keys: keys.deriveAll('machines'), clock, log }
  const server = link && stack.use(await WorkerHomeServer.open(config(), link))
  if (server) ports.add(server.port)
  const homes =
    link &&
    server &&
    stack.use(new WorkerHomes({ ...link, store, metrics, folder: workerData(config()), address: server.address }))
  const { emitter } = logpush
  const shared = {
    store,
    repository,
    vault: keys,
    blobs,
    egress,
    zones,
    workers,
    tails,
    emitter,
    homes,
    clock,
    log,
    traces: edge.tracer,
  }
  const running = await openRuntime(config(), shared)
  if (running) stack.use(running)
  const runtime = running?.runtime
  if (link && server) {
    tails.machines = logpush.engine.live.machines = stack.use(new MachineStreams({ ...link, store }))
    server.sources.set('log_records', logpush.liveSource)
    const tail = runtime && tails.source(async (scope) => await runtime.appliedHere(scope, 'if-its-own'))
    server.sources.set('worker_tail', tail ?? (async () => {}))
    server.serve(runtime ?? NO_SCRIPTS)
    stack.use({ close: async () => await server.drain() })
  }
  workers.runtime = runtime
  const code = stack.use(new CodeReader())
  return {
    services: {
      vault: keys,
      blobs,
      repository,
      uploads,
      assets,
      code,
      tails,
      runtime,
      objectIds: async (scope, namespace) => await objectIds(workerData(config()), scope, namespace),
      limits: () => config().workers,
    },
    running,
    sources: server?.sources,
    collector,
    dataFiles: () =>
      dataFiles({
        store,
        folder: workerData(config()),
        temporary: join(config().data, 'backup-in-progress'),
        isHere: (scope) => machine === undefined || homes?.isHere(scope) === true,
        paused: async (scope, work) => await (runtime ? runtime.paused(scope, work) : work()),
        log,
      }),
    configure(next) {
      uploads.limit = next.workers.upload.memory
    },
  }
}
