import { join } from 'node:path'
import { endpoints, startControl } from '../../control/index.js'
import type { ControlDeps } from '../../control/http/context.js'
import type { TracerDeps } from '../../control/rulesets/tracer.js'
import { Tails } from '../../control/workers/services/tail-sessions.js'
import { ActivatedSockets } from './socket-activation.js'
import { startAcme } from './acme.js'
import { listenAdmin, type AdminDeps } from './admin.js'
import { buildInfo, observeApi } from './observe.js'
import { AllZones } from './all-zones.js'
import { AuditedStore, auditLog } from './audit-log.js'
import { backups } from './backup.js'
import { originIssue } from './dial-guard.js'
import type { Config } from '../config/schema.js'
import { openCacheDisk } from './cache-disk.js'
import { configChanges, type ConfigChanges } from './config-changes.js'
import {
  storeType,
  type DaemonStatus,
  type DaemonUrls,
  type LastReload,
  type ReloadResponse,
  type ZoneStatus,
  originStatus,
} from './status.js'
import { messageOf } from '../core/errors.js'
import { PACKAGE_ROOT, VERSION } from '../package.js'
import { TrafficHistory } from './traffic-history.js'
import { systemClock, type Clock } from '../core/clock.js'
import { ClosingStack } from '../core/closing-stack.js'
import { KeyedMutex } from '../core/keyed-mutex.js'
import type { Log } from '../core/log.js'
import { openMetrics } from '../core/metrics.js'
import { startDemoOrigin } from './demo-origin.js'
import { Edge } from './edge.js'
import { startPipelines } from './pipelines.js'
import { processCount, ProxyProcesses } from './processes/index.js'
import { SharedCounts } from './processes/shared-counts.js'
import { MemoryBudget } from '../core/memory-budget.js'
import { tracer } from '../edge/rules/trace.js'
import { openLogPush } from './logpush.js'
import { fairResolve, systemResolve } from '../egress/fair-resolve.js'
import { hostAndPort } from '../http/listen.js'
import { GuardedEgress, readEgress } from '../egress/guarded-egress.js'
import { openWhenReachable } from './open-store.js'
import { openRuntime } from './worker-runtime.js'
import { openBlobs } from '../store/open-blobs.js'
import { Keyring } from '../store/keyring.js'
import { openVault, secretKeys } from '../store/vault.js'
import { startWebhooks } from '../webhooks/index.js'
import { AssetUploads } from '../workers/assets/uploads.js'
import { dailyTicketKeys } from '../tls/ticket-keys.js'
import { CodeReader } from '../workers/code/reader.js'
import { startCollector } from '../workers/orphan-collector.js'
import { ScriptRepository } from '../workers/script-repository.js'

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

/** The configuration file of a daemon. */
export interface DaemonFile {
  readonly path: string
  /** Reads and checks the file. Throws if it is not usable. */
  read(): Config
}

/** Creates, connects and starts all parts. Rejects, after closing all again, if one part cannot start. */
export async function startDaemon(
  config: Config,
  {
    log,
    clock = systemClock,
    file,
    activated = new ActivatedSockets({}),
  }: { log: Log; clock?: Clock; file?: DaemonFile; activated?: ActivatedSockets },
): Promise<Daemon> {
  const stack = new ClosingStack(log)
  try {
    return await start(config, stack, { log, clock, file, activated })
  } catch (error) {
    await stack.close()
    throw error
  }
}

async function start(
  first: Config,
  stack: ClosingStack,
  {
    log,
    clock,
    file,
    activated,
  }: { log: Log; clock: Clock; file: DaemonFile | undefined; activated: ActivatedSockets },
): Promise<Daemon> {
  let config = first
  let draining = false

  const metrics = openMetrics()
  buildInfo(metrics)
  // First to open and last to close, so that probes and scrapes get responses while the others start and drain.
  let starting = true
  const notReady = () => [
    ...(starting ? ['the daemon is starting'] : []),
    ...(draining ? ['shutting down'] : []),
    ...(opened?.unavailable === undefined ? [] : [opened.unavailable]),
    ...(processes?.unavailable === undefined || starting ? [] : [processes.unavailable]),
  ]
  const startedAt = clock.now()
  // Undefined before the start is complete.
  const live: {
    urls?: () => DaemonUrls
    zones?: () => ZoneStatus[]
    reload?: () => Promise<ConfigChanges>
    backup?: AdminDeps['backup']
  } = {}
  let lastReload: LastReload | null = null
  const status = (): DaemonStatus => ({
    version: VERSION,
    node: process.version,
    pid: process.pid,
    started_at: new Date(startedAt).toISOString(),
    uptime_seconds: Math.floor((clock.now() - startedAt) / 1000),
    ready: notReady().length === 0,
    reasons: notReady(),
    config_file: file?.path ?? null,
    last_reload: lastReload,
    store: storeType(config),
    memory_bytes: process.memoryUsage.rss(),
    listeners: live.urls?.() ?? {},
    zones: live.zones?.() ?? [],
    pipelines: config.pipelines.map(({ name }) => name),
  })
  const reloadResponse = async (): Promise<ReloadResponse> => {
    try {
      if (!live.reload) return { error: 'the daemon is starting' }
      const { changed, restartNeeded } = await live.reload()
      return { changed, restart_needed: restartNeeded }
    } catch (error) {
      return { error: messageOf(error) }
    }
  }
  let processes: ProxyProcesses | undefined
  let opened: AuditedStore | undefined
  const scrape = {
    contentType: metrics.contentType,
    metrics: async () => await (processes?.scrape(metrics) ?? metrics.metrics()),
  }
  const backup: AdminDeps['backup'] = async (...given) =>
    (await live.backup?.(...given)) ?? { status: 503, reason: 'the daemon is starting' }
  const admin = stack.use(
    await listenAdmin(config.admin.listen, { metrics: scrape, notReady, status, reload: reloadResponse, backup }),
  )

  const store = stack.use(new AuditedStore(await openWhenReachable(config, { log, clock })))
  opened = store
  const keys = await openVault(store, secretKeys(config), log)

  const resolve = fairResolve(systemResolve)
  const egress = new GuardedEgress(await readEgress(config.egress), { log, metrics, resolve })

  const logpush = stack.use(await openLogPush(config, { store, keys, egress, clock, log, metrics }))

  const effective = new AllZones(store).in(() => config)
  store.tell = auditLog(logpush.emitter, effective)

  const demo = config.zones.some(({ origin }) => origin === 'demo') ? stack.use(await startDemoOrigin()) : undefined
  const { emitter } = logpush
  const blobs = stack.use(await openBlobs(config.store, { folder: config.data, clock }))
  const ports = new Set<number>([portOf(admin.url), ...pipelinePorts(config)])
  if (demo) ports.add(portOf(demo.origin))
  const shared = {
    store,
    blobs,
    emitter,
    challengeKey: keys.derive('challenge'),
    certificateKeys: keys.deriveAll('acme certificates'),
    ticketKeys: dailyTicketKeys((purpose) => keys.derive(purpose), clock),
    demoOrigin: demo?.origin,
    ports,
    clock,
    log,
    metrics,
  }
  const count = processCount(config)
  const sharedCounts = count === 1 ? undefined : stack.use(new SharedCounts(config.data, log))
  const counts = { url: config.store, countLog: sharedCounts?.counts }
  const files = await openCacheDisk(config, { store, clock, log })
  if (files) stack.use(files)
  const cacheDisk = files && { start: files.owner.start, owner: files.owner, counts: files.owner }
  const edge = stack.use(await Edge.open(config, { ...shared, egress, resolve, counts, cacheDisk }))
  const { zones, workers: sites, geo } = edge
  const proxy = count === 1 ? stack.use(await edge.listen({ bind: activated.bind })) : undefined

  const trace = tracer({ zones, fields: { clock, geo }, clock, bodyBytes: () => config.proxy.rules_body.bytes })
  const tails = stack.use(new Tails({ store, clock }))
  const deps: ControlDeps & TracerDeps = {
    bind: activated.bind,
    config: effective,
    originIssue: originIssue(egress, ports),
    store,
    clock,
    log,
    trace,
    upgrades: [logpush.engine.live, tails],
    observe: observeApi(metrics, edge.tracer),
  }
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
      // The spool's own name: one folder, one daemon.
      sharedAs: config.store.startsWith('redis') ? logpush.engine.spools.id : undefined,
    }),
  )
  const engine = { vault: keys, egress, emitter, ...webhooks, limits: () => config.webhooks.quotas }
  stack.use(startCollector({ store, blobs, clock, log, olderThanMs: () => config.workers.retention.orphans }))
  const shelf = new ScriptRepository({ store, blobs, vault: keys, clock, keep: () => config.workers.retention })
  const assets = new AssetUploads({
    store,
    blobs,
    clock,
    key: keys.derive('worker assets'),
    limits: () => config.workers.assets,
  })
  const uploads = new MemoryBudget(config.workers.upload.memory)
  const running = await openRuntime(config, {
    store,
    shelf,
    vault: keys,
    blobs,
    egress,
    zones,
    workers: sites,
    tails,
    emitter,
    clock,
    log,
  })
  if (running) stack.use(running)
  const runtime = running?.runtime
  sites.runtime = runtime
  const code = stack.use(new CodeReader())
  const scripts = { vault: keys, blobs, shelf, uploads, assets, code, tails, runtime, limits: () => config.workers }
  const seen = {
    traffic: stack.use(new TrafficHistory(scrape.metrics, { clock, log })),
    zones: () => live.zones?.() ?? [],
    startedAt,
    version: VERSION,
    certificateFiles: () => config.proxy.tls?.certificates.map(({ cert_file: file }) => file) ?? [],
    proxy: () => urlOf(bound().proxy),
  }
  const areas = endpoints({
    ...deps,
    logpush: () => logpush.engine,
    posture: () => engine,
    workers: () => scripts,
    overview: () => seen,
  })
  const control = stack.use(await startControl(areas, deps, join(PACKAGE_ROOT, 'dist')))
  ports.add(portOf(control.url))
  stack.use(startPipelines(config, { clock, log, monitor: logpush.monitor }))
  if (sharedCounts) {
    const { limiter } = edge.limits
    const runtime = () => running?.forProcesses
    processes = stack.use(
      new ProxyProcesses(config, {
        ...shared,
        activated,
        count,
        counts: sharedCounts,
        limiter,
        runtime,
        cacheFiles: files?.owner,
      }),
    )
    store.applied = () => processes?.applied()
    await logpush.follow(async (wanted) => await processes?.want(wanted))
    await processes.start()
  }
  const certificateVault = new Keyring(shared.certificateKeys)
  const acme = stack.use(
    startAcme({ store, vault: certificateVault, config: () => config, zones, clock, log, metrics }),
  )
  const reload = async (next: Config): Promise<ConfigChanges> => {
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
    uploads.limit = next.workers.upload.memory
    log.level = next.log.level
    config = next
    acme.check()
    return changes
  }
  const turns = new KeyedMutex()
  const reloadFile = async (): Promise<ConfigChanges> => {
    if (!file) throw new Error('the daemon was started without a configuration file')
    // First: also if the configuration cannot be used, because rotated logs must not grow under their old name.
    await Promise.all([edge.reopenLogs(), processes?.reopenLogs()])
    const at = new Date(clock.now()).toISOString()
    try {
      const changes = await turns.run('reload', async () => {
        if (draining) throw new Error('shutting down')
        return await reload(file.read())
      })
      lastReload = { at, error: null }
      log.info({ event: 'reloaded', file: file.path, changed: changes.changed }, 'configuration read again')
      return changes
    } catch (error) {
      lastReload = { at, error: messageOf(error) }
      log.error(
        { event: 'reload_failed', file: file.path, error: messageOf(error) },
        'the configuration stays as it was',
      )
      throw error
    }
  }
  live.reload = reloadFile
  live.backup = backups({ store, blobs, keys, secrets: secretKeys(first), clock, log })
  live.zones = () =>
    zones.current.zones.map(({ id, name, hostnames, balancer }) => ({
      id,
      name,
      hostnames,
      origins: originStatus(balancer, clock.monotonic()),
    }))
  const bound = () => ({ proxy: proxy ?? processes!.proxy, tls: proxy ? proxy.tls : processes!.tls })
  live.urls = () => ({
    proxy: urlOf(bound().proxy),
    ...(bound().tls && { proxy_tls: urlOf(bound().tls!, 'https') }),
    control: control.url,
    admin: admin.url,
  })
  starting = false

  const { proxy: plain, tls } = bound()
  return {
    proxy: urlOf(plain),
    proxyTls: tls && urlOf(tls, 'https'),
    control: control.url,
    admin: admin.url,
    reloadFile,
    // Concurrent reloads would undo each other, and a listener opened now would outlive the daemon.
    reload: (next) =>
      turns.run('reload', async () => {
        if (draining) throw new Error('shutting down')
        return await reload(next)
      }),
    async close() {
      draining = true
      await turns.run('reload', async () => {
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
  pipelines.flatMap(({ source }) => ('http' in source ? hostAndPort(source.http).port : []))

const urlOf = ({ address, port }: { address: string; port: number }, scheme = 'http'): string =>
  `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`
