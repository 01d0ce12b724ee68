import { join } from 'node:path'
import { Counter } from 'prom-client'
import type { LogpushServices } from '../../control/logpush/services.js'
import { liveRecords } from '../../control/logpush/live-elsewhere.js'
import { LiveSessions } from '../../control/logpush/live-sessions.js'
import { SpoolEmitter } from '../../pipelines/logpush/emitter.js'
import { startLogpush, type JobTarget } from '../../pipelines/logpush/job-manager.js'
import { PipelineMonitor } from '../../pipelines/logpush/monitor.js'
import { RetainedRecords } from '../../pipelines/logpush/retained.js'
import { checkDestination, destinationKey, needsOwnership, openSink, redact } from '../../sinks/index.js'
import type { SinkDeps } from '../../sinks/sink-type.js'
import type { Config } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import { ClosingStack } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import type { StreamSource } from '../core/machine-streams.js'
import type { OutgoingTraces } from '../core/outgoing-traces.js'
import { collectedMetrics } from '../core/collected-metrics.js'
import type { Metrics } from '../core/metrics.js'
import type { Store } from '../core/store.js'
import { configuredJobs } from './pipelines.js'
import { openDaemonSpools } from './spools.js'
import type { Egress } from '../egress/egress.js'
import type { Keyring } from '../store/keyring.js'

export interface LogPushDeps {
  readonly store: Store
  readonly keys: Keyring
  readonly egress: Egress
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Log push as it runs in a daemon: spools, jobs and live sessions. */
export interface LogPush {
  readonly emitter: SpoolEmitter
  /** Also calls `want` with the log records that jobs read, now and with each change, before they run. */
  follow(want: (wanted: readonly JobTarget[]) => Promise<void>): Promise<void>
  readonly engine: LogpushServices
  /** Sends records of this machine to live sessions of others. */
  readonly liveSource: StreamSource
  /** Name of this machine, the same after a restart. */
  readonly machine: string
  /** The reason why no log records are taken now, if there is one. */
  readonly unavailable: string | undefined
  readonly monitor: PipelineMonitor
  /** Records uploads as spans from now on. */
  traced(traces: OutgoingTraces): void
  /** Applies a reloaded configuration. Retention, upload and dead letter destinations change with the next start. */
  configure(config: Config['logpush']): void
  /** Stops the jobs, then makes emitted records durable. */
  close(): Promise<void>
}

/** Opens the spools below the data folder and starts the jobs of the store and of the configuration. */
export async function openLogPush(whole: Config, deps: LogPushDeps): Promise<LogPush> {
  const { data, logpush } = whole
  const { store, keys, egress, clock, log, metrics } = deps
  let config = logpush
  const stack = new ClosingStack(log)
  try {
    const { spools, events, machine } = await openDaemonSpools(whole, stack, { store, clock, log, metrics })
    const emitter = stack.use(new SpoolEmitter({ spools: events, clock, log, metrics }))
    const targets = new WantedRecords(emitter)
    const sinkDeps = (): SinkDeps => ({
      egress,
      allowPlainHttp: config.destinations.allow_plain_http,
      allowFileUnder: config.destinations.allow_file_under,
      allowStdout: false,
      clock,
      log,
    })
    const open = (destination: string) => openSink(destination, sinkDeps())
    const monitor = new PipelineMonitor([metrics])
    let ofJobs: readonly JobTarget[] = []
    let spans: OutgoingTraces | undefined
    const replace = async (): Promise<void> => await targets.replace([...ofJobs, ...retained.targets])
    const retained: RetainedRecords = stack.use(new RetainedRecords({ store, spools, changed: replace, clock, log }))
    await retained.start()
    const runner = stack.use(
      await startLogpush({
        store,
        vault: keys,
        spools,
        open,
        destinationKey,
        want: async (wanted) => {
          ofJobs = wanted
          await replace()
        },
        options: () => config,
        standing: configuredJobs(whole, { clock, log }),
        monitor,
        redact,
        traces: { outgoing: (name, attributes) => spans?.outgoing(name, attributes) },
        folder: join(data, 'batches'),
        clock,
        log,
        metrics,
      }),
    )
    const lines = (...[scope, job, signal]: Parameters<typeof runner.live>) => runner.live(scope, job, signal)
    const live = stack.use(new LiveSessions({ lines, clock, log }))
    countLive(live, metrics)
    return {
      emitter,
      machine,
      get unavailable() {
        return spools.unavailable
      },
      follow: async (want) => await targets.follow(want),
      monitor,
      liveSource: liveRecords({
        lines,
        running: () => monitor.list(),
        isSpoolShared: logpush.spool !== 'embedded',
        log,
      }),
      engine: {
        running: () => monitor.list(),
        vault: keys,
        challengeKeys: keys.derivedKeys('logpush ownership'),
        destinations: { check: (destination) => checkDestination(destination, sinkDeps()), open, needsOwnership },
        spools,
        live,
        retentionSettled: async (scope) => await retained.settled(scope),
        settled: async (id) => await runner.settled(id),
        settledFor: async (scope, dataset) => await runner.settledFor(scope, dataset),
        limits: () => config,
        observeIngest: ingestCounter(metrics),
      },
      traced(traces) {
        spans = traces
      },
      configure(next) {
        config = next
      },
      close: async () => await stack.close(),
    }
  } catch (error) {
    await stack.close()
    throw error
  }
}

/** The records that jobs read now, in this process and in others that create records. */
class WantedRecords {
  readonly #emitter: SpoolEmitter
  #current: readonly JobTarget[] = []
  #elsewhere: ((wanted: readonly JobTarget[]) => Promise<void>) | undefined

  constructor(emitter: SpoolEmitter) {
    this.#emitter = emitter
  }

  async follow(want: (wanted: readonly JobTarget[]) => Promise<void>): Promise<void> {
    this.#elsewhere = want
    await want(this.#current)
  }

  async replace(wanted: readonly JobTarget[]): Promise<void> {
    const next = wanted.map(({ dataset, scope }) => ({ dataset, scope }))
    if (this.#elsewhere) {
      // Until the other processes have stopped, their records are accepted here.
      await this.#emitter.want([...this.#current, ...next])
      await this.#elsewhere(next)
    }
    this.#current = next
    await this.#emitter.want(next)
  }
}

function ingestCounter(metrics: Metrics): NonNullable<LogpushServices['observeIngest']> {
  const records = new Counter({
    name: 'edged_ingest_records_total',
    help: 'Log records received through the API, by outcome.',
    labelNames: ['dataset', 'outcome'],
    registers: [metrics],
  })
  return (dataset, { accepted, rejected }) => {
    records.inc({ dataset, outcome: 'accepted' }, accepted)
    records.inc({ dataset, outcome: 'rejected' }, rejected)
  }
}

function countLive({ counts }: LiveSessions, metrics: Metrics): void {
  collectedMetrics(metrics).counters(
    'edged_live_records_total',
    'Log records for live sessions, by outcome; dropped: the client read too slowly.',
    ['outcome'],
    (add) => {
      add({ outcome: 'sent' }, counts.sent)
      add({ outcome: 'dropped' }, counts.dropped)
    },
  )
}
