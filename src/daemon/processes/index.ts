import { availableParallelism } from 'node:os'
import { Counter } from 'prom-client'
import type { SpoolEmitter } from '../../../pipelines/logpush/emitter.js'
import type { JobTarget } from '../../../pipelines/logpush/job-manager.js'
import type { Config } from '../../config/schema.js'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { StoreReader } from '../../core/store.js'
import type { SpentSignatures } from '../../edge/agents/spent-signatures.js'
import type { Bound } from '../../edge/serve/proxy-parts.js'
import type { DiskOwner } from '../../edge/cache/files/owner.js'
import type { Invalidated } from '../../edge/cache/invalidation.js'
import type { HistorySink } from '../../history/part.js'
import type { Limiter } from '../../rules/limits/limiter.js'
import { CacheFilesOfProcess } from './cache-files.js'
import type { ActivatedSockets } from './socket-activation.js'
import { ChannelClosed, PassedHandle, type Handlers } from './channel.js'
import { SharedListeners } from './listeners.js'
import type { SharedCounts } from './shared-counts.js'
import { ProcessMetrics } from './process-metrics.js'
import type { SeenOrigin } from '../state/status.js'
import { ProxyProcess } from './proxy-process.js'
import type { DaemonCalls, Listening, ProcessConfig, RecordRow } from './protocol.js'
import { replicatedRows, snapshotOf } from './replica.js'
import { RestartDelays } from './restart-delays.js'
import { RuntimeSlots, type RuntimeOfDaemon } from '../workers/runtime-slots.js'
import { sharedAmong } from './shares.js'

/** A process that does not apply a change or respond to a check within this time is killed and replaced. */
const SILENT_MS = 5000
const START_TIMEOUT_MS = 60_000
const CHECK_MS = 2000
/** A scrape does not wait longer for a process. */
const SCRAPE_MS = 1000
/** The daemon reads the counts of rate limits this often. */
const FOLLOW_MS = 50
/** Added to `drain_timeout`. */
const DRAIN_GRACE_MS = 10_000
/** Processes that have loaded their code and wait; about 50 MB each. Loading takes up to a second. */
const SPARES = 2

export interface ProxyProcessesDeps {
  readonly count: number
  readonly store: StoreReader
  readonly blobs: Pick<Blobs, 'get'>
  readonly emitter: Pick<SpoolEmitter, 'adopt' | 'commit'>
  readonly history: HistorySink
  readonly challengeKeys: () => readonly Buffer[]
  readonly certificateKeys: readonly Buffer[]
  readonly ticketKeys: () => Buffer
  readonly counts: SharedCounts
  /** The daemon's copy of the counts. */
  readonly limiter: Limiter
  /** Sockets that systemd has opened. */
  readonly activated: Pick<ActivatedSockets, 'take'>
  /** Ports of the daemon's other listeners. */
  readonly ports: ReadonlySet<number>
  readonly demand: (name: string) => Promise<unknown>
  readonly spent: SpentSignatures
  /** Undefined without `cache.disk`. */
  readonly cacheFiles: DiskOwner | undefined
  /** Called with cached responses that a process found to be outdated. */
  readonly invalidated: (invalidated: readonly Invalidated[]) => void
  /** Returns undefined if scripts do not run. */
  readonly runtime: () => RuntimeOfDaemon | undefined
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Returns the number of proxy processes that a configuration asks for. */
export const processCount = ({ processes }: Pick<Config, 'processes'>): number =>
  processes === 'auto' ? availableParallelism() : processes

/**
 * The proxy in several processes. The daemon sends each process a snapshot of the records that requests depend on, then
 * every change, and waits until all processes have applied it. A process that ends is replaced.
 */
export class ProxyProcesses {
  readonly #deps: ProxyProcessesDeps
  #config: ProcessConfig
  readonly #listeners: SharedListeners
  readonly #metrics = new ProcessMetrics()
  /** Reads in progress. The parts of one read are not mixed with the parts of another. */
  readonly #reading = new Map<ProxyProcess, Promise<boolean>>()
  readonly #restarts: Counter
  readonly #delays: RestartDelays
  readonly #processes = new Set<ProxyProcess>()
  /** Changes for processes whose snapshot is being sent. */
  readonly #backlogs = new Map<ProxyProcess, (readonly RecordRow[])[]>()
  /** Starts in progress, by number. */
  readonly #starting = new Map<number, Promise<void>>()
  readonly #unwatch: () => void
  #wanted: readonly JobTarget[] = []
  #challengeKeys: readonly Buffer[]
  #ticketKeys: Buffer
  #listening: Listening | undefined
  #reconfiguring: Promise<void> = Promise.resolve()
  #checking: NodeJS.Timeout | undefined
  #following: NodeJS.Timeout | undefined
  /** Changes the files of counts; processes start before or after that. */
  #rotating: Promise<void> | undefined
  /**
   * Processes that have loaded their code, oldest first. A spare replaces a process that ends without the delay of
   * loading.
   */
  #spares: ProxyProcess[] = []
  #closing = false

  constructor(config: ProcessConfig, deps: ProxyProcessesDeps) {
    this.#config = config
    this.#deps = deps
    this.#listeners = new SharedListeners(deps.activated)
    this.#challengeKeys = deps.challengeKeys()
    this.#ticketKeys = deps.ticketKeys()
    this.#delays = new RestartDelays(deps.clock)
    this.#restarts = new Counter({
      name: 'edged_proxy_process_restarts_total',
      help: 'Proxy processes that ended unexpectedly and were replaced.',
      registers: [deps.metrics],
    })
    collectedMetrics(deps.metrics).gauge(
      'edged_proxy_processes',
      'Proxy processes that accept connections.',
      () => this.#serving.length,
    )
    this.#unwatch = deps.store.watch((changes) => this.#changed(replicatedRows(changes)))
  }

  get proxy(): Bound {
    return this.#listening?.proxy ?? { address: '', port: 0 }
  }

  get tls(): Bound | undefined {
    return this.#listening?.tls
  }

  /** The reason why no request is served, if that is so. */
  get unavailable(): string | undefined {
    return this.#serving.length > 0 ? undefined : 'no proxy process is running'
  }

  /** Starts all processes. Resolves when they accept connections. Rejects if one process cannot. */
  async start(): Promise<void> {
    const numbers = Array.from({ length: this.#deps.count }, (_, i) => i + 1)
    await Promise.all(numbers.map(async (number) => await this.#launch(number)))
    this.#checking = setInterval(() => this.#check(), CHECK_MS).unref()
    this.#following = setInterval(() => this.#followCounts(), FOLLOW_MS).unref()
    this.#prepareSpares()
  }

  /** Resolves when all changes of the store so far are in force. Returns undefined if that is so now. */
  applied(): Promise<unknown> | undefined {
    const pending = this.#serving.flatMap((process) => process.applied ?? [])
    return pending.length === 0 ? undefined : Promise.all(pending)
  }

  /** Replaces the log records that are wanted. Resolves when all processes create them. */
  async want(wanted: readonly JobTarget[]): Promise<void> {
    this.#wanted = wanted
    for (const process of this.#processes)
      if (!this.#backlogs.has(process))
        this.#update(process, () => process.channel.call('want', wanted, { timeoutMs: SILENT_MS }))
    await this.applied()
  }

  /** Removes cached responses in all processes but one. Resolves when that is in force. */
  async invalidate(invalidated: readonly Invalidated[], but?: ProxyProcess): Promise<void> {
    const others = this.#serving.filter((process) => process !== but)
    for (const process of others)
      process.update(() => process.channel.call('invalidate', invalidated, { timeoutMs: SILENT_MS }))
    await Promise.all(others.map(async (process) => await process.applied))
  }

  /** Applies a reloaded configuration in all processes, or in none. */
  async reconfigure(config: ProcessConfig): Promise<void> {
    const previous = this.#config
    const change = async (): Promise<void> => {
      await Promise.allSettled(this.#starting.values())
      try {
        await this.#listeners.get('proxy', config.proxy.listen)
        if (config.proxy.tls) await this.#listeners.get('proxy_tls', config.proxy.tls.listen)
        await this.#reconfigureAll(config)
        this.#config = config
      } catch (error) {
        await this.#reconfigureAll(previous).catch(() => undefined)
        throw error
      } finally {
        this.#listeners.retain(this.#config.proxy)
      }
    }
    const changing = change()
    this.#reconfiguring = changing.catch(() => undefined)
    await changing
  }

  /** Opens the access log again in all processes. */
  async reopenLogs(): Promise<void> {
    await Promise.allSettled(
      this.#serving.map(async ({ channel }) => await channel.call('reopenLogs', undefined, { timeoutMs: SILENT_MS })),
    )
  }

  /** Receives the counts of requests of all processes. A process that does not respond in time is left out. */
  async flushHistory(): Promise<void> {
    await Promise.allSettled(
      this.#serving.map(async ({ channel }) => await channel.call('flushHistory', undefined, { timeoutMs: SCRAPE_MS })),
    )
  }

  /** Returns an origin as the processes know it; see {@link ProcessMetrics.origin}. */
  origin(key: string): SeenOrigin | undefined {
    return this.#metrics.origin(key)
  }

  /** Returns the metrics of all processes and of the daemon. */
  async scrape(own: Metrics): Promise<Metrics> {
    const { clock } = this.#deps
    const stop = new AbortController()
    await Promise.race([
      Promise.all(this.#serving.map(async (process) => await this.#readMetrics(process))),
      clock.sleep(SCRAPE_MS, stop.signal),
    ])
    stop.abort()
    return await this.#metrics.all(own)
  }

  /** Lets requests finish within `drain_timeout`, receives the remaining log records and ends the processes. */
  async close(): Promise<void> {
    this.#closing = true
    this.#unwatch()
    clearInterval(this.#checking)
    clearInterval(this.#following)
    this.#listeners.close()
    for (const spare of this.#spares) spare.kill()
    await this.#reconfiguring
    const timeoutMs = this.#config.proxy.drain_timeout + DRAIN_GRACE_MS
    await Promise.all(
      [...this.#processes].map(async (process) => {
        process.retired = true
        if (process.serving) await process.channel.call('drain', undefined, { timeoutMs }).catch(() => process.kill())
        else process.kill()
        process.disconnect()
        await process.ended
      }),
    )
  }

  get #serving(): ProxyProcess[] {
    return [...this.#processes].filter(({ serving }) => serving)
  }

  #launch(number: number): Promise<void> {
    const started = this.#begin(number).finally(() => {
      if (this.#starting.get(number) === started) this.#starting.delete(number)
    })
    this.#starting.set(number, started)
    return started
  }

  async #begin(number: number): Promise<void> {
    await Promise.all([this.#reconfiguring, this.#rotating])
    if (this.#closing) return
    const process = this.#spares.shift() ?? this.#fork()
    process.number = number
    this.#processes.add(process)
    try {
      await this.#prepare(process)
      // From here on changes wait for this process: it listens after those that were sent before.
      process.serving = true
      this.#listening = await process.channel.call('listen', undefined, { timeoutMs: START_TIMEOUT_MS })
      this.#delays.served(number)
      this.#deps.log.info({ event: 'proxy_process_started', process: number, pid: process.pid })
      if (this.#checking !== undefined) this.#prepareSpares()
    } catch (error) {
      process.kill()
      throw error
    }
  }

  #fork(): ProxyProcess {
    const slots = new RuntimeSlots(this.#deps.runtime)
    const files = new CacheFilesOfProcess(this.#deps.cacheFiles)
    const process: ProxyProcess = new ProxyProcess(slots, {
      ...this.#handlers(slots, files),
      invalidated: async (invalidated) => {
        this.#deps.invalidated(invalidated)
        await this.invalidate(invalidated, process)
      },
    })
    void this.#follow(process, files)
    return process
  }

  async #follow(process: ProxyProcess, files: CacheFilesOfProcess): Promise<void> {
    const end = await process.ended
    this.#ended(process, end.signal ?? `exit code ${end.code}`)
    if (process.number === 0 || this.#closing) return
    await files.ended(process.pid).catch((error: unknown) => this.#deps.cacheFiles?.failed('read', error))
  }

  #prepareSpares(): void {
    while (!this.#closing && this.#spares.length < SPARES) this.#spares.push(this.#fork())
  }

  async #prepare(process: ProxyProcess): Promise<void> {
    const { certificateKeys, ports, runtime, store, count, counts, limiter } = this.#deps
    const { channel } = process
    const timed = { timeoutMs: START_TIMEOUT_MS }
    const backlog: (readonly RecordRow[])[] = []
    this.#backlogs.set(process, backlog)
    try {
      const { zones, ...config } = sharedAmong(count, this.#config)
      const snapshot = await process.configure(zones, async () => {
        const starting = channel.call(
          'start',
          {
            number: process.number,
            processes: count,
            config,
            challengeKeys: this.#challengeKeys,
            certificateKeys,
            ticketKeys: this.#ticketKeys,
            ports: [...ports],
            wanted: this.#wanted,
            counts: { state: limiter.state(), segments: counts.counts.segments },
            cacheDisk: this.#deps.cacheFiles?.start,
            runsWorkers: runtime() !== undefined,
          },
          timed,
        )
        // It has the changes before it.
        backlog.length = 0
        const rows = snapshotOf(store)
        await starting
        return rows
      })
      for (const rows of snapshot) await channel.call('load', rows, timed)
      for (const rows of backlog) channel.post('changes', rows)
      channel.post('want', this.#wanted)
    } finally {
      this.#backlogs.delete(process)
    }
    await channel.call('open', undefined, timed)
  }

  #handlers(slots: RuntimeSlots, files: CacheFilesOfProcess): Omit<Handlers<DaemonCalls>, 'invalidated'> {
    const { emitter, history, blobs, demand, spent } = this.#deps
    return {
      listener: async ({ name, address }) => new PassedHandle(await this.#listeners.get(name, address)),
      records: async ({ dataset, scope, frames }) => {
        await emitter.adopt(dataset, scope, frames)
        // Responses wait until their receipts are stored.
        if (dataset === 'edged_crawl_charges') await emitter.commit(dataset, scope)
      },
      history: async (parts) => await history.add(parts),
      blob: async (name) => await blobs.get(name),
      enterRuntime: async ({ scope, id, left }) => {
        slots.leave(left)
        return await slots.enter(scope, id)
      },
      reserveCacheFile: async ({ bytes, mayWait }) => await files.reserve(bytes, mayWait),
      cacheFiles: (reports) => files.apply(reports),
      demandCertificate: async (name) => void (await demand(name)),
      spendSignature: async ({ id, expires }) => await spent.spend(id, expires),
      releaseSignature: async (id) => await spent.release(id),
      cutRuntime: async (id) => await slots.cut(id),
      runtimeThrew: ({ id, rayId }) => slots.threw(id, rayId),
      leaveRuntime: (ids) => slots.leave(ids),
    }
  }

  #ended(process: ProxyProcess, reason: string): void {
    this.#processes.delete(process)
    this.#metrics.end(process.pid)
    // The next check starts another spare.
    this.#spares = this.#spares.filter((spare) => spare !== process)
    if (process.number === 0 || process.retired || this.#closing) return
    const { number, pid } = process
    const { log, clock } = this.#deps
    const delayMs = this.#delays.ended(number)
    log.error(
      { event: 'proxy_process_ended', process: number, pid, reason, restart_ms: delayMs },
      'a proxy process ended; its connections are closed, the other processes continue',
    )
    // A process that ends during the start of the daemon makes that start fail.
    if (this.#checking === undefined) return
    this.#restarts.inc()
    const replace = async (): Promise<void> => {
      if (delayMs > 0) await clock.sleep(delayMs)
      if (this.#closing) return
      await this.#launch(number)
    }
    replace().catch((error: unknown) =>
      log.error({ event: 'proxy_process_start_failed', process: number, error: messageOf(error) }),
    )
  }

  #changed(rows: readonly RecordRow[]): void {
    if (rows.length === 0) return
    for (const process of this.#processes) {
      const backlog = this.#backlogs.get(process)
      if (backlog) backlog.push(rows)
      else this.#update(process, () => process.channel.call('changes', rows, { timeoutMs: SILENT_MS }))
    }
  }

  /** A process that does not serve yet applies a change before it does: nobody has to wait. */
  #update(process: ProxyProcess, apply: () => Promise<void>): void {
    if (process.serving) process.update(apply)
    else apply().catch(() => undefined)
  }

  async #reconfigureAll(config: ProcessConfig): Promise<void> {
    const { count, ports } = this.#deps
    const { zones, ...rest } = sharedAmong(count, config)
    const argument = { config: rest, ports: [...ports] }
    const results = await Promise.allSettled(
      this.#serving.map(
        async (process) =>
          await process.configure(zones, async () => await process.channel.call('reconfigure', argument)),
      ),
    )
    for (const result of results) {
      if (result.status === 'fulfilled') this.#listening = result.value
      else if (!(result.reason instanceof ChannelClosed)) throw result.reason
    }
  }

  /** Bounds the files of counts, and keeps the daemon's copy current for processes that start. */
  #followCounts(): void {
    const { counts, limiter, log } = this.#deps
    limiter.sync()
    if (!counts.isFull || this.#rotating || this.#starting.size > 0) return
    const tell = (name: 'useCounts' | 'forgetCounts') => async (path: string) => {
      for (const process of this.#serving)
        this.#update(process, () => process.channel.call(name, path, { timeoutMs: SILENT_MS }))
      await this.applied()
    }
    this.#rotating = counts
      .rotate({ use: tell('useCounts'), forget: tell('forgetCounts') })
      .catch((error: unknown) => log.error({ event: 'counts_not_shared', error: messageOf(error) }))
      .finally(() => (this.#rotating = undefined))
  }

  #check(): void {
    const { challengeKeys, ticketKeys } = this.#deps
    this.#prepareSpares()
    const challenges = challengeKeys()
    if (challenges !== this.#challengeKeys) {
      this.#challengeKeys = challenges
      for (const { channel } of this.#processes) channel.post('challengeKeys', challenges)
    }
    const keys = ticketKeys()
    if (keys !== this.#ticketKeys) {
      this.#ticketKeys = keys
      for (const { channel } of this.#processes) channel.post('ticketKeys', keys)
    }
    for (const process of this.#serving) void this.#checkProcess(process)
  }

  async #checkProcess(process: ProxyProcess): Promise<void> {
    const responded = await this.#readMetrics(process)
    if (responded || !process.serving || this.#closing) return
    this.#deps.log.error({ event: 'proxy_process_silent', process: process.number, pid: process.pid })
    process.kill()
  }

  /** Returns false if the process does not respond in time. */
  #readMetrics(process: ProxyProcess): Promise<boolean> {
    const running = this.#reading.get(process)
    if (running) return running
    const read = this.#metrics
      .update(process.pid, async (request) => await process.channel.call('metrics', request, { timeoutMs: SILENT_MS }))
      .then(
        () => true,
        () => false,
      )
      .finally(() => this.#reading.delete(process))
    this.#reading.set(process, read)
    return read
  }
}
