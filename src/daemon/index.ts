import { Tails } from '../../control/workers/services/tail-sessions.js'
import { listenerOf } from '../config/pipeline-sources.js'
import type { Config } from '../config/schema.js'
import { systemClock, type Clock } from '../core/clock.js'
import { ClosingStack } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import { openMetrics } from '../core/metrics.js'
import type { Invalidated } from '../edge/cache/invalidation.js'
import { readEgress } from '../egress/guarded-egress.js'
import { hostAndPort } from '../http/listen.js'
import { CERTIFICATES } from '../store/reseal.js'
import { dailyTicketKeys } from '../tls/ticket-keys.js'
import { startWebhooks } from '../webhooks/index.js'
import { startAcme } from './acme.js'
import { startApi } from './api.js'
import { listenAdmin, type AdminDeps, type Scrape } from './admin.js'
import { backups } from './backup.js'
import { openCacheDisk } from './cache-disk.js'
import { MachineInvalidations } from './cache-invalidations.js'
import { configChanges, type ConfigChanges } from './config-changes.js'
import { startDemoOrigin } from './demo-origin.js'
import { Edge } from './edge.js'
import { openFoundation } from './foundation.js'
import { buildInfo } from './observe.js'
import { startPipelines } from './pipelines.js'
import { processCount, ProxyProcesses } from './processes/index.js'
import { SharedCounts } from './processes/shared-counts.js'
import { Reloader, type DaemonFile } from './reloader.js'
import { ActivatedSockets } from './socket-activation.js'
import { DaemonState } from './state.js'
import { originStatus } from './status.js'
import { TrafficHistory } from './traffic-history.js'
import { openWorkerScripts } from './worker-scripts.js'

/** A running daemon and its URLs. */
export interface Daemon {
  /** Base URL of the proxy, `http://127.0.0.1:8080`. */
  readonly proxy: string
  /** Base URL of the HTTPS listener, `https://127.0.0.1:8443`; undefined if none is configured. */
  readonly proxyTls: string | undefined
  /** Base URL of the API; ends in `/client/v4`. */
  readonly control: string
  /** Base URL of `/livez`, `/readyz` and `/metrics`. */
  readonly admin: string
  /** Applies a changed configuration, without a dropped request. Logs changes that need a restart. */
  reload(config: Config): Promise<ConfigChanges>
  /** Reads the configuration file and applies it; opens log files again. Rejects, and changes nothing, if it is not usable. */
  reloadFile(): Promise<ConfigChanges>
  /** Drains and stops everything, in reverse order of its start. */
  close(): Promise<void>
}

/** Creates, connects and starts all parts. Rejects, after closing all again, if one part cannot start. */
export async function startDaemon(
  config: Config,
  {
    log,
    clock = systemClock,
    file,
    activated = new ActivatedSockets({}),
    acceptEmptyStore = false,
    signal,
  }: {
    log: Log
    clock?: Clock
    file?: DaemonFile
    activated?: ActivatedSockets
    acceptEmptyStore?: boolean
    /** Ends a start that waits for the store: it rejects with {@link StartStopped}. */
    signal?: AbortSignal
  },
): Promise<Daemon> {
  const stack = new ClosingStack(log)
  try {
    return await start(config, stack, { log, clock, file, activated, acceptEmptyStore, signal })
  } catch (error) {
    await stack.close()
    throw error
  }
}

interface StartOptions {
  readonly log: Log
  readonly clock: Clock
  readonly file: DaemonFile | undefined
  readonly activated: ActivatedSockets
  /** Starts although all records in Redis are gone. */
  readonly acceptEmptyStore: boolean
  readonly signal: AbortSignal | undefined
}

async function start(
  first: Config,
  stack: ClosingStack,
  { log, clock, file, activated, acceptEmptyStore, signal }: StartOptions,
): Promise<Daemon> {
  let config = first
  const current = () => config
  const metrics = openMetrics()
  buildInfo(metrics)
  const reloader = new Reloader(file, { clock, log })
  const lastReload = () => reloader.last
  const state = new DaemonState({ config: current, configFile: file?.path ?? null, lastReload, clock })
  let processes: ProxyProcesses | undefined
  let backup: AdminDeps['backup'] | undefined
  const scrape: Scrape = {
    contentType: metrics.contentType,
    metrics: async () => await (processes?.scrape(metrics) ?? metrics.metrics()),
  }
  // First to open and last to close, so that probes and scrapes get responses while the others start and drain.
  const admin = stack.use(
    await listenAdmin(first.admin.listen, {
      metrics: scrape,
      notReady: () => state.notReady(),
      limited: () => state.limited(),
      status: () => state.status(),
      reload: async () => await reloader.respond(),
      backup: async (...given) => (await backup?.(...given)) ?? { status: 503, reason: 'the daemon is starting' },
    }),
  )

  const foundation = await openFoundation(stack, current, { state, clock, log, metrics, acceptEmptyStore, signal })
  const { store, keys, blobs, resolve, egress, logpush } = foundation
  const { emitter } = logpush
  const demo = first.zones.some(({ origin }) => origin === 'demo') ? stack.use(await startDemoOrigin()) : undefined
  const ports = new Set<number>([portOf(admin.url), ...pipelinePorts(first)])
  if (demo) ports.add(portOf(demo.origin))
  const shared = {
    store,
    blobs,
    emitter,
    challengeKeys: keys.derivedKeys('challenge'),
    certificateKeys: keys.deriveAll(CERTIFICATES),
    ticketKeys: dailyTicketKeys((purpose) => keys.derive(purpose), clock),
    demoOrigin: demo?.origin,
    ports,
    clock,
    log,
    metrics,
  }
  const count = processCount(first)
  const sharedCounts = count === 1 ? undefined : stack.use(new SharedCounts(first.data, log))
  const counts = { url: first.store, countLog: sharedCounts?.counts }
  const files = await openCacheDisk(first, { store, clock, log })
  if (files) stack.use(files)
  const cacheDisk = files && { start: files.owner.start, owner: files.owner, counts: files.owner }
  // Undefined: no other machine uses the store.
  const machine = first.store.startsWith('redis') ? logpush.machine : undefined
  let machines: MachineInvalidations | undefined
  const spread = (invalidated: Invalidated): undefined => {
    machines?.add(invalidated)
    return undefined
  }
  const edge = stack.use(await Edge.open(first, { ...shared, egress, resolve, counts, cacheDisk, spread }))
  store.applied = () => {
    const pending = [edge.applied, processes?.applied(), files?.owner.recorded].filter(
      (promise) => promise !== undefined,
    )
    return pending.length === 0 ? undefined : Promise.all(pending)
  }
  logpush.traced(edge.tracer)
  const apply = (invalidated: readonly Invalidated[]) => void (processes ?? edge).invalidate(invalidated)
  if (machine !== undefined) machines = stack.use(new MachineInvalidations(machine, { store, clock, log, apply }))
  const proxy = count === 1 ? stack.use(await edge.listen({ bind: activated.bind })) : undefined
  const bound = () => ({ proxy: proxy ?? processes!.proxy, tls: proxy ? proxy.tls : processes!.tls })

  const tails = stack.use(new Tails({ store, clock }))
  const webhooks = stack.use(
    startWebhooks({
      store,
      vault: keys,
      egress,
      clock,
      log,
      metrics,
      config: () => config.webhooks,
      traces: edge.tracer,
      sharedAs: machine,
    }),
  )
  const parts = {
    config: current,
    store,
    keys,
    blobs,
    egress,
    edge,
    tails,
    emitter,
    machine,
    ports,
    clock,
    log,
    metrics,
  }
  const scripts = await openWorkerScripts(stack, parts)
  const traffic = stack.use(new TrafficHistory(() => scrape.metrics(), { clock, log }))
  const control = stack.use(
    await startApi({
      foundation,
      config: current,
      edge,
      tails,
      webhooks,
      scripts,
      traffic,
      state,
      activated,
      machine,
      ports,
      proxyUrl: () => urlOf(bound().proxy),
      clock,
      log,
      metrics,
    }),
  )
  ports.add(portOf(control.url))
  stack.use(startPipelines(first, { clock, log, monitor: logpush.monitor }))
  if (sharedCounts) {
    const { limiter } = edge.limits
    const runtime = () => scripts.running?.forProcesses
    const invalidated = (all: readonly Invalidated[]) => all.forEach(spread)
    const own = { activated, count, counts: sharedCounts, limiter, runtime, cacheFiles: files?.owner, invalidated }
    const started = stack.use(new ProxyProcesses(first, { ...shared, ...own }))
    processes = state.watch(started, { whileStarting: false })
    await logpush.follow(async (wanted) => await started.want(wanted))
    await started.start()
  }
  const acme = stack.use(
    startAcme({
      store,
      vault: keys.derivedRing(CERTIFICATES),
      config: current,
      zones: edge.zones,
      clock,
      log,
      metrics,
    }),
  )

  reloader.start({
    reopenLogs: async () => await Promise.all([edge.reopenLogs(), processes?.reopenLogs()]),
    async apply(next) {
      const ways = await readEgress(next.egress)
      await edge.reconfigure(next)
      try {
        await processes?.reconfigure(next)
      } catch (error) {
        await edge.reconfigure(config)
        throw error
      }
      files?.configure(next.cache)
      const changes = configChanges(config, next)
      for (const section of changes.restartNeeded)
        log.warn({ event: 'restart_needed', section }, `${section} changes with the next start`)
      egress.use(ways)
      logpush.configure(next.logpush)
      scripts.configure(next)
      log.level = next.log.level
      config = next
      acme.check()
      return changes
    },
  })
  const respondBackup = backups({ store, blobs, keys, clock, log })
  backup = async (...given) => await Promise.resolve(respondBackup(...given))
  const { proxy: plain, tls } = bound()
  const urls = {
    proxy: urlOf(plain),
    ...(tls && { proxy_tls: urlOf(tls, 'https') }),
    control: control.url,
    admin: admin.url,
  }
  const zones = () =>
    edge.zones.current.zones.map(({ id, name, hostnames, balancer }) => ({
      id,
      name,
      hostnames,
      origins: originStatus(balancer, clock.monotonic()),
    }))
  state.started({ urls, zones })

  return {
    proxy: urls.proxy,
    proxyTls: urls.proxy_tls,
    control: urls.control,
    admin: urls.admin,
    reloadFile: async () => await reloader.reloadFile(),
    reload: async (next) => await reloader.reload(next),
    async close() {
      state.drain()
      await reloader.close(async () => {
        if (config.proxy.shutdown_delay > 0) await clock.sleep(config.proxy.shutdown_delay)
        // First: what its requests need stays open until they are finished.
        await (processes ?? proxy)?.close()
        await stack.close()
      })
    },
  }
}

const portOf = (url: string): number => Number(new URL(url).port)

/** Returns the ports on which pipelines accept records. */
const pipelinePorts = ({ pipelines }: Config): number[] =>
  pipelines.flatMap(({ source }) => {
    const listen = 'http' in source ? listenerOf(source).listen : 'otlp' in source ? source.otlp.listen : undefined
    return listen === undefined ? [] : hostAndPort(listen).port
  })

const urlOf = ({ address, port }: { address: string; port: number }, scheme = 'http'): string =>
  `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`
