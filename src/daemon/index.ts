import { Tails } from '../../control/workers/services/tail-sessions.js'
import type { Config } from '../config/schema.js'
import { systemClock, type Clock } from '../core/clock.js'
import { ClosingStack } from '../core/closing-stack.js'
import { messageOf } from '../core/errors.js'
import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import type { Log } from '../core/log.js'
import { openMetrics } from '../core/metrics/metrics.js'
import { readEgress } from '../egress/guarded-egress.js'
import type { AcceptedLosses } from '../store/index.js'
import { CERTIFICATES } from '../store/secrets/reseal.js'
import { startWebhooks } from '../webhooks/index.js'
import { startApi } from './api.js'
import { listenAdmin, type AdminDeps, type Scrape } from './admin/admin.js'
import { Backups } from './backups/backups.js'
import { BackupSchedule } from './backups/schedule.js'
import { Certificates } from './certificates/certificates.js'
import { configChanges, type ConfigChanges } from './config/changes.js'
import { assertKnownToRules, keptRules } from './config/rules-of-api.js'
import { openFoundation, type Foundation } from './foundation.js'
import { historyReader } from './history-reader.js'
import { buildInfo } from './observe.js'
import { pipelinePorts, portOf, urlOf } from './proxy/own-urls.js'
import { startPipelines } from './pipelines/pipelines.js'
import { modulesOf } from './pipelines/transforms.js'
import { Reloader, type DaemonFile } from './reloader.js'
import { Descriptors } from './proxy/descriptors.js'
import { requestsOf } from './all-requests.js'
import { Requests } from './requests.js'
import { Serving } from './serving.js'
import { ActivatedSockets } from './processes/socket-activation.js'
import { keptText, type KeptRules } from './config/kept-rules.js'
import { Attention } from './state/attention.js'
import { zoneDurations } from './state/durations.js'
import { DaemonState } from './state/state.js'
import { runningWork } from './state/troubles.js'
import type { DaemonUrls } from './state/status.js'
import { TrafficHistory } from './traffic-history.js'
import { withUnchanged } from './config/unchanged.js'
import { openWorkerScripts, type WorkerScripts } from './worker-scripts.js'

/** A running daemon and its URLs. */
export interface Daemon {
  /** Base URL of the proxy, `http://127.0.0.1:8080`. */
  readonly proxy: string
  /** Base URL of the HTTPS listener, `https://127.0.0.1:8443`. Undefined if none is configured. */
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
    accepted = {},
    signal,
  }: {
    log: Log
    clock?: Clock
    file?: DaemonFile
    activated?: ActivatedSockets
    /** Losses of the store with which the daemon starts nevertheless. */
    accepted?: AcceptedLosses
    /** Ends a start that waits for the store: it rejects with {@link StartStopped}. */
    signal?: AbortSignal
  },
): Promise<Daemon> {
  const stack = new ClosingStack(log)
  try {
    return await start(config, stack, { log, clock, file, activated, accepted, signal })
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
  readonly accepted: AcceptedLosses
  readonly signal: AbortSignal | undefined
}

/** Parts that the admin listener reports of once they have started. */
interface LaterParts {
  serving: Serving | undefined
  backup: AdminDeps['backup'] | undefined
  certificates: Certificates | undefined
}

async function start(
  first: Config,
  stack: ClosingStack,
  { log, clock, file, activated, accepted, signal }: StartOptions,
): Promise<Daemon> {
  const inForce = { config: first }
  const config = () => inForce.config
  const metrics = openMetrics()
  buildInfo(metrics)
  const reloader = new Reloader(file, { clock, log })
  const state = new DaemonState({ config, configFile: file?.path ?? null, lastReload: () => reloader.last, clock })
  const later: LaterParts = { serving: undefined, backup: undefined, certificates: undefined }
  const scrape = {
    contentType: metrics.contentType,
    metrics: async () => await (later.serving?.scrape() ?? metrics.metrics()),
  }
  // First to open and last to close, so that probes and scrapes get responses while the others start and drain.
  const admin = stack.use(await listenAdmin(first.admin.listen, adminDeps({ config, scrape, state, reloader, later })))

  const foundation = await openFoundation(stack, config, { state, clock, log, metrics, accepted, signal })
  const { store, keys, blobs, egress, logpush } = foundation
  // Undefined if no other machine uses the store.
  const machine = first.store.startsWith('redis') ? logpush.machine : undefined
  const ports = new Set([portOf(admin.url), ...pipelinePorts(first)])
  egress.reserve(portOf(admin.url))
  const demand = async (name: string) => await later.certificates?.demand(name)
  const common = { machine, ports, clock, log, metrics }
  // After the store is open, and before the listeners.
  const descriptors = stack.use(Descriptors.open({ warns: true, clock, log }))
  const serving = await Serving.open(first, stack, { foundation, activated, state, descriptors, demand, ...common })
  later.serving = serving
  const { edge } = serving

  const tails = stack.use(new Tails({ store, clock }))
  const webhooks = stack.use(
    startWebhooks({
      store,
      vault: keys,
      egress,
      config: () => config().webhooks,
      traces: edge.tracer,
      sharedAs: machine,
      clock,
      log,
      metrics,
    }),
  )
  const scripts = await openWorkerScripts(stack, {
    config,
    store,
    keys,
    blobs,
    egress,
    edge,
    tails,
    logpush,
    ...common,
  })
  const traffic = stack.use(new TrafficHistory((prefix) => serving.samples(prefix), { clock, log }))
  const requests = requestsOf(stack.use(new Requests({ config, edge, clock, log })), {
    sources: scripts.sources,
    questions: machine === undefined ? undefined : { store, self: machine, keys: keys.deriveAll('machines'), clock },
    log,
  })
  const proxyUrl = () => urlOf(serving.bound.proxy)
  const history = historyReader(foundation.history, {
    flush: async () => await serving.flushHistory(),
    exchange: foundation.exchange,
  })
  const shown = { foundation, edge, tails, webhooks, scripts, traffic, history, requests, state, proxyUrl }
  const control = stack.use(await startApi({ config, activated, descriptors, ...shown, ...common }))
  ports.add(portOf(control.url))
  egress.reserve(portOf(control.url))
  stack.use(startPipelines(first, { clock, log, monitor: logpush.monitor, transforms: logpush.transforms }))
  await serving.startProcesses(first, stack, () => scripts.running?.forProcesses)
  const vault = keys.derivedRing(CERTIFICATES)
  const certificates = stack.use(new Certificates({ store, vault, config: foundation.effective, clock, log, metrics }))
  later.certificates = certificates

  const backups = new Backups({
    store,
    blobs,
    keys,
    data: () => scripts.dataFiles(),
    collector: scripts.collector,
    clock,
    log,
  })
  later.backup = async (...given) => await Promise.resolve(backups.respond(...given))
  const schedule = stack.use(new BackupSchedule({ backups, machine, clock, log, metrics }))
  state.mention(schedule)

  reloader.start({
    config,
    reopenLogs: async () => await serving.reopenLogs(),
    apply: async (next) =>
      await applyConfig(next, inForce, { foundation, serving, scripts, certificates, schedule, log }),
  })
  // Read each time: a reload adds, moves and removes listeners of the proxy.
  const urls = (): DaemonUrls => {
    const { proxy, tls } = serving.bound
    return {
      proxy: urlOf(proxy),
      ...(tls && { proxy_tls: urlOf(tls, 'https') }),
      control: control.url,
      admin: admin.url,
    }
  }
  const work = () => runningWork({ store, running: logpush.monitor.list(), breakers: webhooks.openBreakers() })
  const attention = stack.use(
    new Attention({
      config: foundation.effective,
      store,
      zones: () => serving.zoneStatus(),
      running: () => logpush.monitor.list(),
      breakers: () => webhooks.openBreakers(),
      failing: () => webhooks.failing(),
      health: (scope, id) => webhooks.health(scope, id),
      certificates: () => certificates.list(),
      missing: () => certificates.missing(),
      keptRules: () => keptRules(config(), store),
      samples: async (prefix) => await serving.samples(prefix),
      clock,
    }),
  )
  state.started({
    attention,
    urls,
    zones: () => serving.zoneStatus(),
    durations: async () => await zoneDurations(history, config().accounts, clock.now()),
    work,
    certificates,
    keptRules: () => keptRules(config(), store),
    backup: () => schedule.status,
  })
  reportKept(keptRules(first, store), log)
  try {
    assertKnownToRules(first, store)
  } catch (error) {
    log.error({ event: 'file_rules_incomplete', error: messageOf(error) }, 'these rules of the file never match')
  }

  await schedule.configure(first)

  return {
    get proxy() {
      return urls().proxy
    },
    get proxyTls() {
      return urls().proxy_tls
    },
    control: control.url,
    admin: admin.url,
    reloadFile: async () => await reloader.reloadFile(),
    reload: async (next) => await reloader.reload(next),
    async close() {
      state.drain()
      await reloader.close(async () => {
        const { shutdown_delay: delayMs } = config().proxy
        if (delayMs > 0) await clock.sleep(delayMs)
        // First: what its requests need stays open until they are finished.
        await serving.drain()
        await stack.close()
      })
    },
  }
}

/** Runs the new code of changed modules. The configuration is in force, and a module that cannot run stays as it was. */
async function renewTransforms({ pipelines }: Config, { transforms }: Foundation['logpush'], log: Log): Promise<void> {
  for (const module of modulesOf(pipelines))
    try {
      await transforms.renew(module)
    } catch (error) {
      log.error({ event: 'transform_kept', file: module.file, error: messageOf(error) }, 'the module stays as it was')
    }
}

/** Logs rules of the API that are not in force because the file has their phase. */
function reportKept(kept: readonly KeptRules[], log: Log): void {
  const text = keptText(kept)
  if (text !== undefined) log.warn({ event: 'file_rules_shadow', kept }, text)
}

/** Returns the functions that respond on the admin listener, from the first moment of the start. */
const adminDeps = ({
  config,
  scrape,
  state,
  reloader,
  later,
}: {
  config: () => Config
  scrape: Scrape
  state: DaemonState
  reloader: Reloader
  later: LaterParts
}): AdminDeps => ({
  metrics: scrape,
  hosts: () => config().admin.hosts,
  notReady: () => state.notReady(),
  limited: () => state.limited(),
  status: () => state.status(),
  reload: async () => await reloader.respond(),
  backup: async (...given) => (await later.backup?.(...given)) ?? { status: 503, reason: 'the daemon is starting' },
})

/** Puts a changed configuration in force. Rejects, and changes nothing, if it is not usable. */
async function applyConfig(
  given: Config,
  inForce: { config: Config },
  {
    foundation: { store, egress, logpush, history },
    serving,
    scripts,
    certificates,
    schedule,
    log,
  }: {
    foundation: Foundation
    serving: Serving
    scripts: WorkerScripts
    certificates: Certificates
    schedule: BackupSchedule
    log: Log
  },
): Promise<ConfigChanges> {
  const slices = new EventLoopYield()
  const pause = () => slices.yieldToEventLoop()
  const next = await withUnchanged(inForce.config, given, pause)
  assertKnownToRules(next, store)
  const ways = await readEgress(next.egress)
  const changes = await configChanges(inForce.config, next, pause)
  await serving.reconfigure(next, inForce.config)
  for (const section of changes.restartNeeded)
    log.warn({ event: 'restart_needed', section }, `${section} changed; restart the daemon to apply it`)
  egress.use(ways)
  logpush.configure(next.logpush)
  await renewTransforms(next, logpush, log)
  await history.configure(next.history)
  scripts.configure(next)
  log.level = next.log.level
  inForce.config = next
  await schedule.configure(next)
  certificates.check()
  const kept = keptRules(next, store)
  reportKept(kept, log)
  return kept.length === 0 ? changes : { ...changes, keptRules: kept }
}
