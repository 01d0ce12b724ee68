import type { Config } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import type { ClosingStack } from '../core/closing-stack.js'
import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { metricsText } from '../core/metrics/metrics-text.js'
import type { Invalidated } from '../edge/cache/invalidation.js'
import { requestFolder } from '../edge/records/requests/request-log.js'
import type { Bound, Proxy } from '../edge/serve/proxy-parts.js'
import { CERTIFICATES } from '../store/secrets/reseal.js'
import { registrySamples, type Sample } from '../telemetry/samples.js'
import { dailyTicketKeys } from '../tls/ticket-keys.js'
import { openCacheDisk, type CacheFiles } from './cache/disk.js'
import { MachineInvalidations } from './cache/invalidations.js'
import { DemoOrigin } from './proxy/demo-origin.js'
import type { Descriptors } from './proxy/descriptors.js'
import { Edge } from './proxy/edge.js'
import { StoredSignatures } from './proxy/stored-signatures.js'
import type { Foundation } from './foundation.js'
import { processCount, ProxyProcesses, type ProxyProcessesDeps } from './processes/index.js'
import { SharedCounts } from './processes/shared-counts.js'
import type { ActivatedSockets } from './processes/socket-activation.js'
import type { DaemonState } from './state/state.js'
import { zoneStatus, type ZoneStatus } from './state/status.js'

export interface ServingDeps {
  readonly foundation: Foundation
  readonly activated: ActivatedSockets
  readonly state: DaemonState
  readonly descriptors: Descriptors
  /** Receives the served names without a certificate. */
  readonly demand: (name: string) => Promise<unknown>
  /** Name of this machine if others use the same store. */
  readonly machine: string | undefined
  /** Ports of the daemon's own listeners. The ports of the sample site and of the proxy are added. */
  readonly ports: Set<number>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Options of processes that depend on parts of the daemon that were started before. */
type LaterOptions = 'activated' | 'count' | 'counts' | 'limiter' | 'runtime' | 'cacheFiles' | 'invalidated'

interface ServingParts {
  readonly edge: Edge
  /** The zones with the URL of the sample site in place of `demo`. */
  readonly demo: DemoOrigin
  readonly forProcesses: Omit<ProxyProcessesDeps, LaterOptions>
  /** Undefined if the proxy runs in the daemon's own process. */
  readonly counts: SharedCounts | undefined
  /** Undefined without `cache.disk`. */
  readonly files: CacheFiles | undefined
  /** Sends an invalidation of the cache to the other machines. */
  readonly spread: (invalidated: Invalidated) => undefined
}

/** What serves the clients of sites: all that their requests depend on, and the proxy in this process or in its own ones. */
export class Serving {
  readonly edge: Edge
  readonly #deps: ServingDeps
  readonly #slices = new EventLoopYield()
  readonly #parts: ServingParts
  /** The proxy of this process. Undefined with processes of its own. */
  #proxy: Proxy | undefined
  /** Undefined before their start. */
  #processes: ProxyProcesses | undefined

  private constructor(deps: ServingDeps, parts: ServingParts) {
    this.edge = parts.edge
    this.#deps = deps
    this.#parts = parts
  }

  /** Opens what requests depend on. Without processes of its own the proxy accepts connections afterwards. */
  static async open(written: Config, stack: ClosingStack, deps: ServingDeps): Promise<Serving> {
    const { foundation, activated, machine, descriptors, demand, ports, clock, log, metrics } = deps
    const { store, keys, blobs, resolve, egress, logpush, history } = foundation
    const demo = stack.use(new DemoOrigin(ports))
    const config = await demo.resolve(written)
    const shared = {
      store,
      blobs,
      emitter: logpush.emitter,
      history,
      challengeKeys: keys.derivedKeys('challenge'),
      certificateKeys: keys.deriveAll(CERTIFICATES),
      ticketKeys: dailyTicketKeys((purpose) => keys.derive(purpose), clock),
      demand,
      spent: stack.use(new StoredSignatures({ store, clock, log })),
      ports,
      clock,
      log,
      metrics,
    }
    const counts = processCount(config) === 1 ? undefined : stack.use(new SharedCounts(config.data, log))
    const files = await openCacheDisk(config, { store, clock, log })
    if (files) stack.use(files)
    let machines: MachineInvalidations | undefined
    const spread = (invalidated: Invalidated): undefined => {
      machines?.add(invalidated)
      return undefined
    }
    const edge = stack.use(
      await Edge.open(config, {
        ...shared,
        descriptors,
        egress,
        resolve,
        // With processes of its own, the daemon serves no requests.
        requests: { folder: requestFolder(config.data), process: 0, processes: 1 },
        counts: { url: config.store, countLog: counts?.counts },
        cacheDisk: files && { start: files.owner.start, owner: files.owner, counts: files.owner },
        spread,
      }),
    )
    const serving = new Serving(deps, { edge, demo, forProcesses: shared, counts, files, spread })
    store.applied = () => serving.#applied()
    logpush.traced(edge.tracer)
    if (machine !== undefined) {
      const apply = (invalidated: readonly Invalidated[]) => void serving.#running.invalidate(invalidated)
      machines = stack.use(new MachineInvalidations(machine, { store, clock, log, apply }))
    }
    if (!counts) serving.#proxy = stack.use(await edge.listen({ bind: activated.bind }))
    return serving
  }

  /** Starts the processes of the proxy, if it has some. `runtime` is read when a process starts. */
  async startProcesses(config: Config, stack: ClosingStack, runtime: ProxyProcessesDeps['runtime']): Promise<void> {
    const { edge, demo, forProcesses, counts, files, spread } = this.#parts
    if (!counts) return
    const { foundation, activated, state } = this.#deps
    const processes = stack.use(
      new ProxyProcesses(await demo.resolve(config), {
        ...forProcesses,
        activated,
        count: processCount(config),
        counts,
        limiter: edge.limits.limiter,
        runtime,
        cacheFiles: files?.owner,
        invalidated: (all) => all.forEach(spread),
      }),
    )
    this.#processes = state.watch(processes, { whileStarting: false })
    await foundation.logpush.follow(async (wanted) => await processes.want(wanted))
    await processes.start()
  }

  /** Addresses of the proxy's listeners; known after all processes have started. */
  get bound(): { readonly proxy: Bound; readonly tls: Bound | undefined } {
    const proxy = this.#proxy ?? this.#processes!.proxy
    return { proxy, tls: (this.#proxy ?? this.#processes!).tls }
  }

  /** Returns the zones and the state of their origins, as the processes that serve them know it. */
  zoneStatus(): Iterable<ZoneStatus> {
    const seen = this.#processes
    return zoneStatus(this.edge.zones.current.zones, this.#deps.clock, seen && ((key) => seen.origin(key)))
  }

  /** Returns the metrics of the daemon and of all processes as Prometheus text. */
  async scrape(): Promise<string> {
    return await metricsText(await this.#allMetrics(), () => this.#slices.yieldToEventLoop())
  }

  /** Returns the values of those metrics whose name begins with `prefix`. */
  async samples(prefix: string): Promise<Sample[]> {
    return await registrySamples(await this.#allMetrics(), prefix)
  }

  async #allMetrics(): Promise<Metrics> {
    const { metrics } = this.#deps
    return (await this.#processes?.scrape(metrics)) ?? metrics
  }

  /** Changes from `before` to `written` without a dropped request. Rejects, and changes nothing, if it is not usable. */
  async reconfigure(written: Config, before: Config): Promise<void> {
    const { demo } = this.#parts
    const next = await demo.resolve(written)
    await this.edge.reconfigure(next)
    try {
      await this.#processes?.reconfigure(next)
    } catch (error) {
      await this.edge.reconfigure(await demo.resolve(before))
      throw error
    }
    this.#parts.files?.configure(next.cache)
  }

  /** Sends the counts of requests so far to the history. */
  async flushHistory(): Promise<void> {
    await this.#running.flushHistory()
  }

  /** Opens the access log again, for a log rotation that renamed it. */
  async reopenLogs(): Promise<void> {
    await Promise.all([this.edge.reopenLogs(), this.#processes?.reopenLogs()])
  }

  /** Stops accepting connections. Resolves when the requests in progress have ended. */
  async drain(): Promise<void> {
    await (this.#processes ?? this.#proxy)?.close()
  }

  /** Which of both has the cached responses of requests. */
  get #running(): Edge | ProxyProcesses {
    return this.#processes ?? this.edge
  }

  /** Resolves when all changes of the store so far are in force. Returns undefined if that is so now. */
  #applied(): Promise<unknown> | undefined {
    const { files } = this.#parts
    const pending = [this.edge.applied, this.#processes?.applied(), files?.owner.recorded].filter(
      (promise) => promise !== undefined,
    )
    return pending.length === 0 ? undefined : Promise.all(pending)
  }
}
