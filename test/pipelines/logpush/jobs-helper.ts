import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import { DeadLetterIndex } from '../../../pipelines/logpush/dead-letter-index.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import {
  startLogpush,
  type Logpush,
  type LogpushDeps,
  type ConfiguredJob,
} from '../../../pipelines/logpush/job-manager.js'
import type { Spools } from '../../../pipelines/logpush/spool/types.js'
import { readConfig } from '../../../src/config/load.js'
import type { LogpushConfig } from '../../../src/config/schema.js'
import { silentLog } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { LOGPUSH_JOBS, LOGPUSH_STATUS, type LogpushJob } from '../../../src/core/model/logpush-job.js'
import { zone, type Scope } from '../../../src/core/scope.js'
import { SinkError, type Batch, type Encoding, type Sink } from '../../../src/core/sink.js'
import type { Store } from '../../../src/core/store.js'
import type { Vault } from '../../../src/core/vault.js'
import { openStore } from '../../../src/store/index.js'
import { testFolder } from '../../helpers/folder.js'
import { MovedClock } from '../../helpers/moved-clock.js'

/** The section of the configuration as it is by default. */
export const DEFAULTS = readConfig('{}', 'f.yaml', {}).logpush

export const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')

export const OPTIONS = {
  field_names: ['RayID'],
  record_prefix: '',
  record_template: '{{.RayID}}',
  record_suffix: '\n',
}

/** What a destination has got. */
export interface Arrived {
  readonly name: string
  readonly text: string
  readonly records: number
  readonly from: string
  readonly to: string
  readonly bytes: Buffer
}

/** Answers one attempt: by nothing, or by a failure; may look at the batch first. */
export type Response = (batch: Arrived, attempt: number, signal: AbortSignal) => void | Promise<void>

/** A destination that does as it is told. */
class ScriptedSink {
  readonly arrived: Arrived[] = []
  /** Every attempt, those that failed too. */
  readonly attempts: Arrived[] = []
  open = 0
  response: Response = () => {}
  encoding: Encoding = 'gzip'
  limits: Sink['limits'] = {}
  daily = false
  ordered = false

  /** What an opened destination is. */
  sink(): Sink {
    this.open++
    const { encoding, limits, daily, ordered } = this
    return {
      ordered,
      encoding,
      limits,
      daily,
      write: async (batch, signal) => await this.#write(batch, signal),
      check: async () => {},
      close: async () => void this.open--,
    }
  }

  /** All that has arrived, in order. */
  get text(): string {
    return this.arrived.map(({ text }) => text).join('')
  }

  get names(): string[] {
    return this.arrived.map(({ name }) => name)
  }

  async #write(batch: Batch, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(await batch.body.bytes())
    const text = (batch.body.encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString()
    const { name, records, from, to } = batch
    const arrived = { name, records, from: from.toISOString(), to: to.toISOString(), text, bytes }
    this.attempts.push(arrived)
    await this.response(arrived, this.attempts.length, signal)
    this.arrived.push(arrived)
  }
}

export const transient = (retryAfterMs?: number) =>
  new SinkError('transient', 'sink.test responded with 503', retryAfterMs === undefined ? {} : { retryAfterMs })
export const refused = () => new SinkError('refused', 'sink.test responded with 403')
export const tooLarge = () => new SinkError('too_large', 'sink.test responded with 413')

/** Records that are told apart by their RayID. */
export const rays = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ RayID: `r${from + i}` }))
/** What jobs make of them. */
export const textOf = (from: number, to: number) =>
  rays(from, to)
    .map(({ RayID }) => `"${RayID}"\n`)
    .join('')

/** Seals in plain sight. */
const vault: Vault = {
  seal: (text, aad) => `${aad} ${text}`,
  open: (sealed, aad) => {
    if (!sealed.startsWith(`${aad} `)) throw new Error('sealed for something else')
    return sealed.slice(aad.length + 1)
  },
}

export type JobChanges = Partial<Omit<LogpushJob, 'destination_conf'>> & { readonly to?: string }

/** Log push on a store, spools and destinations that outlive it. */
export class Bench {
  readonly clock: MovedClock
  readonly store: Store
  readonly folder: string
  readonly sinks = new Map<string, ScriptedSink>()
  readonly config: LogpushConfig
  spools!: Spools
  logpush!: Logpush
  deadLetters!: DeadLetterIndex
  metrics = openMetrics({ process: false })
  /** Names of jobs of the configuration, from the next start on; each goes to `test://NAME`. */
  standing: readonly string[] = []

  private constructor(clock: MovedClock, store: Store, folder: string, config: LogpushConfig) {
    this.clock = clock
    this.store = store
    this.folder = folder
    this.config = config
  }

  static async open(t: Test, config: Partial<LogpushConfig> = {}): Promise<Bench> {
    const clock = new MovedClock('2026-11-21T10:15:00Z')
    const store = await openStore('memory', { folder: '', log: silentLog, clock })
    const bench = new Bench(clock, store, testFolder(t), { ...DEFAULTS, ...config })
    await bench.start()
    t.teardown(async () => {
      await bench.stop()
      await store.close()
    })
    return bench
  }

  async start(): Promise<void> {
    const { clock, store, config } = this
    const metrics = openMetrics({ process: false })
    this.metrics = metrics
    this.spools = await openSpools(join(this.folder, 'spool'), { clock, log: silentLog, limits: { bytes: 1e9 } })
    const deps: LogpushDeps = {
      store,
      vault,
      clock,
      metrics,
      log: silentLog,
      spools: this.spools,
      deadLetters: (this.deadLetters = await DeadLetterIndex.open(join(this.folder, 'dead-letters'), silentLog)),
      open: (text) => this.sink(text).sink(),
      destinationKey: (text) => text,
      options: () => config,
      standing: this.standing.map((name) => this.#standing(name)),
      folder: join(this.folder, 'staging'),
      random: () => 0.5,
    }
    this.logpush = await startLogpush(deps)
  }

  #standing(name: string): ConfiguredJob {
    const settings = { dataset: 'http_requests', output_options: OPTIONS, edged_in_flight: 1 }
    const open = (text: string) => this.sink(text).sink()
    return { name, scope: ZONE, settings, destination: `test://${name}`, deadLetter: `test://${name}-dead`, open }
  }

  async stop(): Promise<void> {
    const stopped = this.logpush.close()
    let done = false
    void stopped.finally(() => (done = true))
    await this.clock.until(() => done)
    await this.spools.close()
  }

  /** Ends the run and begins another on the same folders, as after a crash if nothing was under way. */
  async restart(): Promise<void> {
    await this.stop()
    await this.start()
  }

  sink(destination = 'test://a'): ScriptedSink {
    const known = this.sinks.get(destination) ?? new ScriptedSink()
    this.sinks.set(destination, known)
    return known
  }

  /** Makes or changes a job, and waits until it has its place in the spool, or no longer has. */
  async job(id: number, changes: JobChanges = {}, scope: Scope = ZONE): Promise<void> {
    const { dataset, enabled } = await this.change(id, changes, scope)
    const spool = await this.spools.open(dataset, scope)
    await this.clock.until(() => spool.cursors.includes(`job-${id}`) === enabled)
  }

  /** Makes or changes a job. */
  async change(id: number, { to = 'test://a', ...changes }: JobChanges = {}, scope: Scope = ZONE): Promise<LogpushJob> {
    const aad = JSON.stringify([LOGPUSH_JOBS.name, scope.type, scope.id, String(id)])
    const old = this.store.get(LOGPUSH_JOBS, scope, String(id))?.value
    const job: LogpushJob = {
      id,
      dataset: 'http_requests',
      enabled: true,
      kind: '',
      edged_in_flight: 1,
      output_options: OPTIONS,
      ...old,
      ...changes,
      destination_conf: { sealed: vault.seal(to, aad) },
    }
    await this.store.batch([{ kind: LOGPUSH_JOBS, scope, id: String(id), value: job }])
    return job
  }

  async remove(id: number, scope: Scope = ZONE): Promise<void> {
    await this.store.batch([{ kind: LOGPUSH_JOBS, scope, id: String(id), value: undefined }])
  }

  async write(...records: object[]): Promise<void> {
    await this.lines(...records.map((record) => JSON.stringify(record)))
  }

  async lines(...lines: string[]): Promise<void> {
    const spool = await this.spools.open('http_requests', ZONE)
    const writer = spool.writer()
    for (const line of lines) {
      writer.add(Buffer.from(line))
      if (writer.size > 200_000) await writer.commit()
    }
    await writer.commit()
  }

  status(id: number, scope: Scope = ZONE) {
    return this.store.get(LOGPUSH_STATUS, scope, String(id))?.value
  }

  enabled(id: number, scope: Scope = ZONE) {
    return this.store.get(LOGPUSH_JOBS, scope, String(id))?.value.enabled
  }
}
