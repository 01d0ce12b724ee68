import { join } from 'node:path'
import type { HistoryReader } from '../../control/overview/services.js'
import type { FileRules } from '../../control/http/context.js'
import type { FileRulesets } from '../rules/rulesets/file-rulesets.js'
import type { Control } from '../../control/http/server/listen.js'
import { endpoints, startControl } from '../../control/index.js'
import type { Tails } from '../../control/workers/services/tail-sessions.js'
import type { Config, ZoneConfig } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { tracer } from '../edge/rules/trace.js'
import { fetchPage } from '../egress/fetch-page.js'
import { PACKAGE_ROOT, VERSION } from '../release/package.js'
import type { Webhooks } from '../webhooks/index.js'
import { orderedNames } from '../tls/acme/served-names.js'
import { BUSY_API_RESPONSES, BusyHeap } from './proxy/busy-heap.js'
import type { Descriptors } from './proxy/descriptors.js'
import { originIssue } from './proxy/dial-guard.js'
import type { Edge } from './proxy/edge.js'
import type { Foundation } from './foundation.js'
import { observeApi } from './observe.js'
import type { ActivatedSockets } from './processes/socket-activation.js'
import type { DaemonState } from './state/state.js'
import type { RequestReader } from '../core/model/requests/request-reader.js'
import type { TrafficHistory } from './traffic-history.js'
import type { WorkerScripts } from './worker-scripts.js'

/** Timeout of a page that is fetched to be stored; the API call waits for it. */
const PAGE_TIMEOUT_MS = 15_000

/** Parts of the daemon that the API shows and changes. */
export interface ApiParts {
  readonly foundation: Foundation
  /** The configuration in force. */
  readonly config: () => Config
  readonly edge: Edge
  readonly tails: Tails
  readonly webhooks: Webhooks
  readonly scripts: WorkerScripts
  readonly traffic: TrafficHistory
  readonly requests: RequestReader
  readonly history: HistoryReader
  readonly state: DaemonState
  readonly activated: ActivatedSockets
  readonly descriptors: Descriptors
  /** Distinguishes this machine from the others with the same store. Undefined without others. */
  readonly machine: string | undefined
  /** Ports of the daemon's own listeners. */
  readonly ports: ReadonlySet<number>
  readonly proxyUrl: () => string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Returns the rules of the configuration file with their places in it. */
const fileRules = (rulesets: FileRulesets, places: Config['places']): FileRules => ({
  entryPoint: (scope, phase) => rulesets.entryPoint(scope, phase),
  get: (scope, id) => rulesets.get(scope, id),
  of: (scope) => rulesets.of(scope),
  places({ id }, phase) {
    const lines = places?.lines[`${id}/${phase}`]
    return places && lines && { file: places.file, lines }
  },
})

/** Connects the areas of the API with the parts that they show and change, and opens its listener. */
export async function startApi(parts: ApiParts): Promise<Control> {
  const { foundation, config, edge, tails, webhooks, scripts, traffic, state, clock, log } = parts
  const { store, keys, egress, logpush, effective } = foundation
  const { zones, geo } = edge
  const observe = observeApi(parts.metrics, edge.tracer)
  let responses = 0
  const deps = {
    bind: parts.activated.bind,
    maxConnections: parts.descriptors.apiConnections,
    config: effective,
    originIssue: originIssue(egress, parts.ports),
    tls: () => {
      const { tls } = config().proxy
      const { acme, certificates = [] } = tls ?? {}
      return (
        tls && {
          acme: acme !== undefined,
          files: certificates.map(({ cert_file: file }) => file),
          ordered: (zone: ZoneConfig) => (acme ? orderedNames(zone, acme) : []),
        }
      )
    },
    store,
    fileRules: () => fileRules(edge.fileRules, config().places),
    machine: parts.machine,
    clock,
    log,
    fetchPage: async (url: URL, maxBytes: number) =>
      await fetchPage(egress, url, { maxBytes, timeoutMs: PAGE_TIMEOUT_MS, userAgent: `edged/${VERSION}` }),
    trace: tracer({ zones, fields: { clock, geo }, clock, bodyBytes: () => config().proxy.rules_body.bytes }),
    upgrades: [logpush.engine.live, tails],
    observe: (request: Parameters<typeof observe>[0]) => {
      responses += 1
      return observe(request)
    },
  }
  const posture = {
    vault: keys,
    egress,
    emitter: logpush.emitter,
    ...webhooks,
    limits: () => config().webhooks.quotas,
  }
  const overview = {
    traffic,
    history: parts.history,
    zones: () => state.zones(),
    missingCertificates: () => state.missingCertificates(),
    attention: async () => await state.attention(),
    startedAt: state.startedAt,
    version: VERSION,
    proxy: parts.proxyUrl,
  }
  const areas = endpoints({
    ...deps,
    logpush: () => logpush.engine,
    posture: () => posture,
    workers: () => scripts.services,
    overview: () => overview,
    requests: () => parts.requests,
  })
  const control = await startControl(areas, deps, join(PACKAGE_ROOT, 'dist'))
  const busyHeap = new BusyHeap(() => responses, BUSY_API_RESPONSES)
  return {
    ...control,
    async close(drainMs) {
      busyHeap.close()
      await control.close(drainMs)
    },
  }
}
