import type { Server } from 'node:net'
import { SpoolEmitter } from '../../../pipelines/logpush/emitter.js'
import { remoteSpools } from '../../../pipelines/logpush/spool/remote.js'
import type { Blobs } from '../../core/blobs.js'
import { systemClock } from '../../core/clock.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { openLog, silentLog, type Log } from '../../core/log.js'
import { openMetrics } from '../../core/metrics/metrics.js'
import type { Invalidated } from '../../edge/cache/invalidation.js'
import { requestFolder } from '../../edge/records/requests/request-log.js'
import type { Proxy } from '../../edge/serve/proxy-parts.js'
import { fairResolve, systemResolve } from '../../egress/fair-resolve.js'
import { GuardedEgress, readEgress } from '../../egress/guarded-egress.js'
import { listenOn, type Bind } from '../../http/listen.js'
import { openBlobs } from '../../store/open-blobs.js'
import { Descriptors } from '../proxy/descriptors.js'
import { Edge } from '../proxy/edge.js'
import { withUnchanged } from '../config/unchanged.js'
import { RemoteDiskOwner } from './cache-files.js'
import type { Handlers } from './channel.js'
import { CountFile } from './count-file.js'
import type { DaemonChannel, Listening, ProcessCalls, ProcessConfig, ProcessStart, SlicedConfig } from './protocol.js'
import { MetricChanges } from './metric-changes.js'
import { RemoteRuntime } from './remote-runtime.js'
import { Replica } from './replica.js'
import { zonesOf, type SentZone } from './zone-slices.js'

/**
 * Records leave a process this often, or when there are enough records. A process that is killed loses the records
 * since then.
 */
const RECORDS_INTERVAL_MS = 50

interface Started {
  readonly start: Omit<ProcessStart, 'config'>
  /** The first configuration. */
  readonly config: ProcessConfig
  readonly log: Log
  readonly replica: Replica
  readonly egress: GuardedEgress
  readonly emitter: SpoolEmitter
  readonly counts: CountFile
}

/** The state of a proxy process: a copy of the records that it needs, and the serving side over it. */
export class ServingProcess {
  readonly #daemon: () => DaemonChannel
  readonly #metrics = openMetrics()
  readonly #changes = new MetricChanges(this.#metrics)
  #started: Started | undefined
  #edge: Edge | undefined
  #proxy: Proxy | undefined
  #challengeKeys: readonly Buffer[] = []
  #ticketKeys: Buffer = Buffer.alloc(0)
  readonly #ports = new Set<number>()
  readonly #slices = new EventLoopYield()
  /** Zones of the next configuration. */
  #sent: SentZone[] = []
  #config: ProcessConfig | undefined

  constructor(daemon: () => DaemonChannel) {
    this.#daemon = daemon
  }

  readonly handlers: Handlers<ProcessCalls> = {
    zones: ({ isFirst, zones }) => void (this.#sent = isFirst ? [...zones] : [...this.#sent, ...zones]),
    start: async (start) => await this.#start(start),
    load: (rows) => this.#state.replica.load(rows),
    open: async () => await this.#open(),
    listen: async () => await this.#listen(),
    changes: async (rows) => {
      this.#state.replica.apply(rows)
      await this.#edge?.applied
    },
    want: async (wanted) => await this.#state.emitter.want(wanted),
    invalidate: async (invalidated) => await this.#edge?.invalidate(invalidated),
    useCounts: (path) => this.#state.counts.use(path),
    forgetCounts: (path) => this.#state.counts.forget(path),
    challengeKeys: (keys) => void (this.#challengeKeys = keys.map((key) => Buffer.from(key))),
    ticketKeys: (keys) => void (this.#ticketKeys = Buffer.from(keys)),
    reconfigure: async ({ config, ports }) => await this.#reconfigure(config, ports),
    reopenLogs: async () => await this.#edge?.reopenLogs(),
    metrics: async (request) => await this.#changes.read(request),
    flushHistory: async () => await this.#edge?.flushHistory(),
    drain: async () => {
      await this.#edge?.close()
      await this.#started?.emitter.close()
    },
  }

  get #state(): Started {
    if (!this.#started) throw new Error('the process is not started')
    return this.#started
  }

  async #start(start: ProcessStart): Promise<void> {
    const { number } = start
    const config = (this.#config = this.#whole(start.config))
    process.title = `edged proxy ${number}`
    const log = openLog(config.log).child({ process: number })
    const metrics = this.#metrics
    // Before anything is awaited: the daemon deletes the files that nobody uses.
    const counts = new CountFile(start.counts.segments, log)
    const send = (...[dataset, scope, frames]: Parameters<Parameters<typeof remoteSpools>[0]>) =>
      this.#daemon().call('records', { dataset, scope, frames })
    this.#challengeKeys = start.challengeKeys.map((key) => Buffer.from(key))
    this.#ticketKeys = Buffer.from(start.ticketKeys)
    for (const port of start.ports) this.#ports.add(port)
    const options = { clock: systemClock, log, metrics }
    const resolve = fairResolve(systemResolve)
    const emitter = new SpoolEmitter({ spools: remoteSpools(send), intervalMs: RECORDS_INTERVAL_MS, ...options })
    const egress = new GuardedEgress(await readEgress(config.egress), { log, metrics, resolve })
    this.#started = { start, config, log, replica: new Replica(log), egress, emitter, counts }
    await emitter.want(start.wanted)
  }

  async #open(): Promise<void> {
    const { start, config, log, replica, egress, emitter, counts } = this.#state
    // All processes have the same limits: one warning is enough.
    const descriptors = Descriptors.open({ warns: start.number === 1, clock: systemClock, log })
    const edge = await Edge.open(config, {
      descriptors,
      store: replica,
      blobs: await this.#blobs(config),
      egress,
      resolve: fairResolve(systemResolve),
      emitter,
      history: { add: async (parts) => await this.#daemon().call('history', parts) },
      challengeKeys: () => this.#challengeKeys,
      certificateKeys: start.certificateKeys.map((key) => Buffer.from(key)) as [Buffer, ...Buffer[]],
      ticketKeys: () => this.#ticketKeys,
      demand: async (name) => await this.#daemon().call('demandCertificate', name),
      spent: {
        spend: async (id, expires) => await this.#daemon().call('spendSignature', { id, expires }),
        release: async (id) => await this.#daemon().call('releaseSignature', id),
      },
      counts: { url: 'embedded', countLog: counts, state: start.counts.state },
      spread: this.#spread(),
      cacheDisk: start.cacheDisk && { start: start.cacheDisk, owner: new RemoteDiskOwner(this.#daemon) },
      requests: { folder: requestFolder(config.data), process: start.number, processes: start.processes },
      ports: this.#ports,
      clock: systemClock,
      log,
      metrics: this.#metrics,
    })
    if (start.runsWorkers) edge.workers.runtime = new RemoteRuntime(this.#daemon)
    this.#edge = edge
  }

  async #listen(): Promise<Listening> {
    if (!this.#edge) throw new Error('the process has no tables')
    this.#proxy = await this.#edge.listen({ bind: this.#bind })
    return listening(this.#proxy)
  }

  async #reconfigure(given: SlicedConfig, ports: readonly number[]): Promise<Listening> {
    const old = this.#config
    const next = this.#whole(given)
    if (!this.#edge || !this.#proxy || !old) throw new Error('the process does not listen')
    const { log, egress } = this.#state
    const config = await withUnchanged(old, next, () => this.#slices.yieldToEventLoop())
    const rules = await readEgress(config.egress)
    await this.#edge.reconfigure(config)
    egress.use(rules)
    for (const port of ports) this.#ports.add(port)
    log.level = config.log.level
    this.#config = config
    return listening(this.#proxy)
  }

  /** Returns a configuration with the zones that were sent before it. */
  #whole(config: SlicedConfig): ProcessConfig {
    const zones = zonesOf(this.#sent, this.#config?.zones ?? [])
    this.#sent = []
    return { ...config, zones }
  }

  readonly #bind: Bind = async (server: Server, address, name) => {
    const { handle } = await this.#daemon().call('listener', { name, address })
    await listenOn(server, handle, address, name)
  }

  /** Sends invalidations to the other processes. The invalidations of one turn of the event loop are sent together. */
  #spread(): (invalidated: Invalidated) => Promise<void> {
    let waiting: Invalidated[] = []
    let sent = Promise.resolve()
    const send = async (): Promise<void> => {
      await new Promise(setImmediate)
      const all = waiting
      waiting = []
      // The daemon replaces a process that does not respond.
      await this.#daemon()
        .call('invalidated', all)
        .catch(() => undefined)
    }
    return async (invalidated) => {
      waiting.push(invalidated)
      if (waiting.length === 1) sent = send()
      await sent
    }
  }

  /** Records in memory exist in the daemon only. */
  async #blobs({ store, data }: ProcessConfig): Promise<Pick<Blobs, 'get'>> {
    if (store !== 'memory') return await openBlobs(store, { folder: data, clock: systemClock, log: silentLog })
    return {
      get: async (name) => {
        const bytes = await this.#daemon().call('blob', name)
        return bytes && Buffer.from(bytes)
      },
    }
  }
}

const listening = ({ address, port, tls }: Proxy): Listening => ({
  proxy: { address, port },
  tls: tls && { address: tls.address, port: tls.port },
})
