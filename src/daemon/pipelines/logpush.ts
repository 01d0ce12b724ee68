import { join } from 'node:path'
import { Counter } from 'prom-client'
import type { Destinations, LogpushServices } from '../../../control/logpush/services.js'
import { liveRecords } from '../../../control/logpush/live-elsewhere.js'
import { LiveSessions } from '../../../control/logpush/live-sessions.js'
import { SpoolEmitter } from '../../../pipelines/logpush/emitter.js'
import { DeadLetterIndex } from '../../../pipelines/logpush/dead-letter-index.js'
import { LagHistory } from '../../../pipelines/logpush/lag-history.js'
import { startLogpush, type JobTarget, type Logpush } from '../../../pipelines/logpush/job-manager.js'
import { PipelineMonitor } from '../../../pipelines/logpush/monitor.js'
import { RetainedRecords } from '../../../pipelines/logpush/retained.js'
import type { Spools } from '../../../pipelines/logpush/spool/types.js'
import {
  checkDestination,
  destinationKey,
  hideSecrets,
  needsOwnership,
  openSink,
  redact,
} from '../../../sinks/index.js'
import type { SinkDeps } from '../../../sinks/contract/sink-type.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import { ClosingStack } from '../../core/closing-stack.js'
import type { Log } from '../../core/log.js'
import type { StreamSource } from '../../core/machine-streams.js'
import type { OutgoingTraces } from '../../core/outgoing-traces.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Store } from '../../core/store.js'
import { configuredJobs } from './pipelines.js'
import { StoredDeadLetters } from './dead-letters.js'
import { Transforms } from './transforms.js'
import { openDaemonSpools } from './spools.js'
import type { Egress } from '../../egress/egress.js'
import type { Keyring } from '../../store/secrets/keyring.js'

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
  /** The servers of a shared spool: the reason why no log records are taken now, if there is one. */
  readonly unavailable: string | undefined
  /** Spools on this machine: the reason why they cannot be written, if there is one. */
  readonly disk: Pick<Spools, 'unavailable'>
  readonly monitor: PipelineMonitor
  /** Of the pipelines too. */
  readonly transforms: Transforms
  /** Records uploads as spans from now on. */
  traced(traces: OutgoingTraces): void
  /** Applies a reloaded configuration. Retention, upload and dead letter destinations change with the next start. */
  configure(config: Config['logpush']): void
  /** Stops the jobs, then makes emitted records durable. */
  close(): Promise<void>
}

/** Opens the spools below the data folder and starts the jobs of the store and of the configuration. */
export async function openLogPush(whole: Config, deps: LogPushDeps): Promise<LogPush> {
  const { store, clock, log, metrics } = deps
  const inForce: InForce = { config: whole.logpush, spans: undefined }
  const stack = new ClosingStack(log)
  try {
    const { spools, events, machine, local } = await openDaemonSpools(whole, stack, { store, clock, log, metrics })
    const emitter = stack.use(new SpoolEmitter({ spools: events, clock, log, metrics }))
    const targets: WantedRecords = new WantedRecords(emitter, () => retained.targets)
    const changed = async (): Promise<void> => await targets.replace()
    const retained = stack.use(new RetainedRecords({ store, spools, changed, clock, log }))
    await retained.start()
    const destinations = destinationsOf(deps, inForce)
    const monitor = new PipelineMonitor([metrics])
    const transforms = new Transforms(clock)
    const index = await DeadLetterIndex.open(join(whole.data, 'dead-letters'), log)
    const deadLetters = new StoredDeadLetters({ index, clock, log })
    const parts = { index, spools, targets, destinations, monitor, transforms, inForce }
    const jobs = stack.use(await startJobs(whole, deps, parts))
    const lines = (...[scope, job, signal]: Parameters<typeof jobs.live>) => jobs.live(scope, job, signal)
    const live = stack.use(new LiveSessions({ lines, clock, log }))
    countLive(live, metrics)
    const running = () => monitor.list()
    const lags = stack.use(
      await LagHistory.open({ path: join(whole.data, 'lag.ndjson'), watched: running, clock, log }),
    )
    return {
      emitter,
      machine,
      get unavailable() {
        return spools === local ? undefined : spools.unavailable
      },
      disk: local,
      follow: async (want) => await targets.follow(want),
      monitor,
      transforms,
      liveSource: liveRecords({ lines, running, isSpoolShared: whole.logpush.spool !== 'embedded', log }),
      engine: servicesOf(deps, { deadLetters, lags, spools, destinations, retained, jobs, live, running, inForce }),
      traced(traces) {
        inForce.spans = traces
      },
      configure(config) {
        inForce.config = config
      },
      close: async () => await stack.close(),
    }
  } catch (error) {
    await stack.close()
    throw error
  }
}

/** What changes while log push runs. */
interface InForce {
  config: Config['logpush']
  spans: OutgoingTraces | undefined
}

function destinationsOf({ egress, clock, log }: LogPushDeps, inForce: InForce): Destinations {
  const sinkDeps = (): SinkDeps => ({
    egress,
    allowPlainHttp: inForce.config.destinations.allow_plain_http,
    allowFileUnder: inForce.config.destinations.allow_file_under,
    allowStdout: false,
    clock,
    log,
  })
  return {
    check: (destination) => checkDestination(destination, sinkDeps()),
    open: (destination) => openSink(destination, sinkDeps()),
    needsOwnership,
    redact,
    hideSecrets,
  }
}

interface JobParts {
  readonly index: DeadLetterIndex
  readonly spools: Spools
  readonly targets: WantedRecords
  readonly destinations: Destinations
  readonly monitor: PipelineMonitor
  readonly transforms: Transforms
  readonly inForce: InForce
}

async function startJobs(whole: Config, deps: LogPushDeps, parts: JobParts): Promise<Logpush> {
  const { store, keys, clock, log, metrics } = deps
  const { index, spools, targets, destinations, monitor, transforms, inForce } = parts
  return await startLogpush({
    store,
    vault: keys,
    spools,
    open: (destination) => destinations.open(destination),
    destinationKey,
    want: async (wanted) => await targets.replace(wanted),
    options: () => inForce.config,
    deadLetters: index,
    standing: configuredJobs(whole, { clock, log }),
    openTransform: transforms.opener(whole.data),
    monitor,
    redact,
    traces: { outgoing: (name, attributes) => inForce.spans?.outgoing(name, attributes) },
    folder: join(whole.data, 'batches'),
    clock,
    log,
    metrics,
  })
}

interface ServiceParts {
  readonly deadLetters: StoredDeadLetters
  readonly lags: LagHistory
  readonly spools: Spools
  readonly destinations: Destinations
  readonly retained: RetainedRecords
  readonly jobs: Logpush
  readonly live: LiveSessions
  readonly running: NonNullable<LogpushServices['running']>
  readonly inForce: InForce
}

/** Returns the log push services that the API uses. */
function servicesOf({ keys, metrics }: LogPushDeps, parts: ServiceParts): LogpushServices {
  const { deadLetters, lags, spools, destinations, retained, jobs, live, running, inForce } = parts
  return {
    deadLetters,
    lags,
    running,
    vault: keys,
    challengeKeys: keys.derivedKeys('logpush ownership'),
    destinations,
    spools,
    live,
    retentionSettled: async (scope) => await retained.settled(scope),
    retry: (id) => jobs.retry(id),
    settled: async (id) => await jobs.settled(id),
    settledFor: async (scope, dataset) => await jobs.settledFor(scope, dataset),
    limits: () => inForce.config,
    observeIngest: ingestCounter(metrics),
  }
}

/** The records that jobs read and zones retain now, in this process and in others that create records. */
class WantedRecords {
  readonly #emitter: SpoolEmitter
  readonly #retained: () => readonly JobTarget[]
  #ofJobs: readonly JobTarget[] = []
  #current: readonly JobTarget[] = []
  #elsewhere: ((wanted: readonly JobTarget[]) => Promise<void>) | undefined

  constructor(emitter: SpoolEmitter, retained: () => readonly JobTarget[]) {
    this.#emitter = emitter
    this.#retained = retained
  }

  async follow(want: (wanted: readonly JobTarget[]) => Promise<void>): Promise<void> {
    this.#elsewhere = want
    await want(this.#current)
  }

  /** Applies the records that jobs read now; without `ofJobs`, those that zones retain have changed. */
  async replace(ofJobs = this.#ofJobs): Promise<void> {
    this.#ofJobs = ofJobs
    const next = [...ofJobs, ...this.#retained()].map(({ dataset, scope }) => ({ dataset, scope }))
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
    function* () {
      yield [{ outcome: 'sent' }, counts.sent]
      yield [{ outcome: 'dropped' }, counts.dropped]
    },
  )
}
