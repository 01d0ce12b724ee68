import { LRUCache } from 'lru-cache'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import {
  WORKER_DEPLOYMENTS,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type StoredDeployment,
  type StoredVersion,
} from '../../core/model/worker.js'
import {
  SCRIPT_SUBDOMAINS,
  WORKER_DOMAINS,
  WORKER_ROUTES,
  type StoredDomain,
  type StoredRoute,
} from '../../core/model/worker-routing.js'
import { account, zone as zoneScope, type Scope } from '../../core/scope.js'
import type { Change, StoreReader, Stored } from '../../core/store.js'
import type { ResponseSink } from '../../edge/exchange/response.js'
import { AssetResponse } from '../../edge/assets/asset-response.js'
import { BlobCache } from '../../edge/assets/blob-cache.js'
import type { Exchange } from '../../edge/exchange/exchange.js'
import { CLIENT_LEFT } from '../../edge/exchange/origin-exchange.js'
import { requestCf } from '../../edge/workers/worker-cf.js'
import { runWorker, type EnteredWorker } from '../../edge/workers/worker-run.js'
import {
  NotRunnable,
  WorkerError,
  type SendTo,
  type WorkerSite,
  type WorkerSites,
} from '../../edge/exchange/worker-sites.js'
import type { AssetConfig } from '../../workers/assets/config.js'
import { readManifest } from '../../workers/assets/manifest.js'
import type { GeoLookup } from '../../rules/types.js'
import type { AssetSite } from '../../workers/assets/site.js'
import { RememberingSite } from '../../workers/assets/remembering-site.js'
import { routeTable, type RouteTable } from '../../workers/route-table.js'
import { versionFor } from '../../workers/traffic-split.js'
import { WorkerMetrics } from './metrics.js'

/** Maximum number of cached files of all sites, counted by paths. The least recently used sites are read again. */
const MAX_FILES = 500_000

/** Runs the code of Workers. */
export interface WorkerRunner {
  /** Whether requests of the script are rejected now. */
  isQuarantined(scope: Scope, script: string): boolean
  /** Reserves a slot for a request of a version. */
  enter(scope: Scope, version: string): EnteredWorker | Promise<EnteredWorker>
}

export interface WorkerRegistryDeps {
  readonly store: StoreReader
  readonly blobs: Pick<Blobs, 'get'>
  readonly geo: GeoLookup
  readonly clock: Clock
  readonly metrics: Metrics
}

/** The parts of a request that determine which Worker responds. */
export type WorkerRequest = Pick<Exchange, 'zone' | 'host' | 'scheme' | 'target'>

/** The destination of the response, and the function that runs the Worker's code if no asset matches. */
interface AssetTarget {
  readonly sink: ResponseSink
  readonly run: () => () => void
}

/** Returns the version id for a script in a list such as `one="ID", two="ID"`. */
const overrideOf = (name: string, field: string | undefined): string | undefined =>
  field
    ?.split(',')
    .map((part) => /^\s*([a-z0-9_-]+)\s*=\s*"([0-9a-f-]{36})"\s*$/.exec(part))
    .find((match) => match?.[1] === name)?.[2]

/** Returns the id of the version of a deployment for a request, which can name one. */
function chosen(name: string, deployment: StoredDeployment, exchange: Exchange): string | undefined {
  const override = overrideOf(name, exchange.clientField('cloudflare-workers-version-overrides'))
  if (override !== undefined && deployment.versions.some(({ version_id: one }) => one === override)) return override
  return versionFor(exchange.clientField('cloudflare-workers-version-key') ?? exchange.clientAddress, deployment)
}

/** Responds for a name below `workers.domain` that no Worker has. */
const NO_WORKER: WorkerSite = {
  serve(_exchange, sink) {
    sink.fail(new WorkerError('worker_missing', 'no Worker has this address'))
    return () => undefined
  },
}

/**
 * The deployed Workers. Finds the Worker of a request by routes and domains, and its version's response. A change from
 * any machine applies to the next request.
 */
export class WorkerRegistry implements WorkerSites {
  readonly #store: StoreReader
  readonly #blobs: Pick<Blobs, 'get'>
  readonly #geo: GeoLookup
  readonly #cache: BlobCache
  readonly #sites = new LRUCache<string, AssetSite>({ maxSize: MAX_FILES })
  /** Reads of sites in progress, by version. */
  readonly #opening = new Map<string, Promise<AssetSite>>()
  /** Domains by host name. `#names` has the host names by record, to find the domain of a removed record. */
  readonly #domains = new Map<string, { readonly service: string; readonly scope: Scope }>()
  readonly #names = new Map<string, string>()
  readonly #routes = new Map<string, RouteTable>()
  readonly #unwatch: () => void
  readonly metrics: WorkerMetrics
  /** Runs code. Undefined if this server runs no Workers. */
  runtime: WorkerRunner | undefined

  constructor(
    { store, blobs, geo, clock, metrics }: WorkerRegistryDeps,
    { cacheBytes }: { readonly cacheBytes: number },
  ) {
    this.#store = store
    this.#blobs = blobs
    this.#geo = geo
    this.metrics = new WorkerMetrics(metrics, clock)
    this.#cache = new BlobCache(async (blob) => await blobs.get(blob), cacheBytes)
    for (const stored of store.list(WORKER_DOMAINS)) this.#domain(stored)
    for (const zone of new Set(store.list(WORKER_ROUTES).map(({ scope }) => scope.id))) this.#route(zone)
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  close(): void {
    this.#unwatch()
  }

  find(exchange: Exchange): WorkerSite | undefined {
    const found = this.scriptFor(exchange)
    if (!found && exchange.zone.isOfWorkers) return NO_WORKER
    return found && this.#worker(found.scope, found.name)
  }

  /** Returns the Worker that is responsible for a URL of a zone. */
  scriptFor({ zone, host, scheme, target }: WorkerRequest): { scope: Scope; name: string } | undefined {
    if (zone.isOfWorkers) {
      const scope = account(zone.accountId)
      const name = host.slice(0, host.indexOf('.'))
      return this.#store.get(SCRIPT_SUBDOMAINS, scope, name)?.value.enabled ? { scope, name } : undefined
    }
    const query = target.indexOf('?')
    const routed = this.#routes.get(zone.id)?.find(scheme, host, query < 0 ? target : target.slice(0, query))
    if (routed === null) return undefined
    const domain = this.#domains.get(host)
    if (routed !== undefined) return { scope: account(zone.accountId), name: routed }
    return domain?.scope.id === zone.accountId ? { scope: domain.scope, name: domain.service } : undefined
  }

  /** Returns the files of a version as its assets binding serves them. Undefined if it has none. */
  async assetSite(scope: Scope, id: string): Promise<AssetSite | undefined> {
    const version = this.#store.get(WORKER_VERSIONS, scope, id)?.value
    if (!version?.assets) return undefined
    const key = `${id} files`
    const known = this.#sites.get(key)
    if (known) return known
    const { main: _code, ...files } = version
    return await this.#open({ ...files, id: key }, version.assets)
  }

  /** Returns the id of the newest version of the deployment: the one that other scripts call. */
  primaryVersion(scope: Scope, name: string): string | undefined {
    const [current] = this.#store.get(WORKER_SCRIPTS, scope, name)?.value.deployments ?? []
    const deployment = current === undefined ? undefined : this.#store.get(WORKER_DEPLOYMENTS, scope, current)?.value
    const versions = (deployment?.versions ?? []).flatMap(
      ({ version_id: id }) => this.#store.get(WORKER_VERSIONS, scope, id)?.value ?? [],
    )
    return versions.toSorted((a, b) => b.number - a.number)[0]?.id
  }

  #worker(scope: Scope, name: string): WorkerSite {
    return {
      serve: (exchange, sink, sendTo) => {
        exchange.worker = name
        const version = this.#version(scope, name, exchange)
        if (!version) {
          sink.fail(new WorkerError('worker_missing', `the Worker ${name} does not exist or is not deployed`))
          return () => undefined
        }
        const run = () => this.#run(scope, version, exchange, { sink, sendTo })
        return version.assets ? this.#response(version, version.assets, exchange, { sink, run }) : run()
      },
    }
  }

  /** Runs the code of a version. */
  #run(
    scope: Scope,
    { id, script, main, format }: StoredVersion,
    exchange: Exchange,
    { sink, sendTo }: { readonly sink: ResponseSink; readonly sendTo: SendTo },
  ): () => void {
    const { runtime } = this
    const failure =
      format === 'python'
        ? new NotRunnable('python', `the Worker ${script} is written in Python, which this server does not run`)
        : !runtime || main === undefined
          ? new NotRunnable('no_runtime', `the Worker ${script} needs a runtime, and this server has none`)
          : runtime.isQuarantined(scope, script)
            ? new WorkerError('worker_limit', `the Worker ${script} exceeded limits several times`)
            : undefined
    if (failure || !runtime) {
      sink.fail(failure)
      return () => undefined
    }
    return runWorker(exchange, sink, {
      sendTo,
      enter: () => runtime.enter(scope, id),
      cf: requestCf(exchange, this.#geo.find(exchange.clientAddress)),
      ended: (outcome) => this.metrics.ended(scope.id, script, outcome, exchange.startedMonotonic),
    })
  }

  /**
   * Returns the version that serves a request. Requests with the same key, or else of the same client, get the same
   * version of a deployment; an override names a version of the deployment.
   */
  #version(scope: Scope, name: string, exchange: Exchange): StoredVersion | undefined {
    const current = this.#store.get(WORKER_SCRIPTS, scope, name)?.value.deployments[0]
    const deployment = current === undefined ? undefined : this.#store.get(WORKER_DEPLOYMENTS, scope, current)?.value
    if (!deployment) return undefined
    const id =
      deployment.versions.length === 1 ? deployment.versions[0]!.version_id : chosen(name, deployment, exchange)
    return id === undefined ? undefined : this.#store.get(WORKER_VERSIONS, scope, id)?.value
  }

  #response(
    version: StoredVersion,
    assets: NonNullable<StoredVersion['assets']>,
    exchange: Exchange,
    to: AssetTarget,
  ): () => void {
    const { sink } = to
    const known = this.#sites.get(version.id)
    if (known) return this.#send(known, exchange, to)
    let stop = (): void => sink.fail(CLIENT_LEFT)
    let left = false
    const begin = async (): Promise<void> => {
      try {
        const site = await this.#opened(version, assets)
        if (!left) stop = this.#send(site, exchange, to)
      } catch (error) {
        sink.fail(error)
      }
    }
    void begin()
    return () => {
      left = true
      stop()
    }
  }

  #send(site: AssetSite, exchange: Exchange, { sink, run }: AssetTarget): () => void {
    const response = new AssetResponse(site, exchange, sink, { blobs: this.#cache, run })
    response.send()
    return () => response.cancel()
  }

  /** Opens the site of a version. Concurrent callers share one read. */
  async #opened(version: StoredVersion, assets: NonNullable<StoredVersion['assets']>): Promise<AssetSite> {
    const { id } = version
    const allowed = this.#opening.get(id) ?? this.#open(version, assets).finally(() => this.#opening.delete(id))
    this.#opening.set(id, allowed)
    return await allowed
  }

  async #open(
    { id, main, compatibility_date: compatibilityDate, compatibility_flags: compatibilityFlags }: StoredVersion,
    { manifest, config }: NonNullable<StoredVersion['assets']>,
  ): Promise<AssetSite> {
    const bytes = await this.#blobs.get(manifest)
    if (!bytes) throw new Error(`the blob ${manifest} with the assets of the version ${id} is missing`)
    const files = readManifest(bytes)
    const parts = { files, config: config as AssetConfig, worker: main !== undefined }
    const site = new RememberingSite({ ...parts, compatibilityDate, compatibilityFlags })
    this.#sites.set(id, site, { size: Math.min(files.size + 100, MAX_FILES) })
    return site
  }

  #changed(changes: readonly Change[]): void {
    const zones = new Set<string>()
    for (const change of changes) {
      if (change.kind === WORKER_DOMAINS.name) this.#domain(change as Stored<StoredDomain | undefined>)
      else if (change.kind === WORKER_ROUTES.name) zones.add(change.scope.id)
    }
    for (const id of zones) this.#route(id)
  }

  #domain({ scope, id, value }: Stored<StoredDomain | undefined>): void {
    const key = `${scope.id}/${id}`
    const old = this.#names.get(key)
    if (old !== undefined) this.#domains.delete(old)
    this.#names.delete(key)
    if (!value?.enabled) return
    this.#names.set(key, value.hostname)
    this.#domains.set(value.hostname, { service: value.service, scope })
  }

  #route(id: string): void {
    const routes = this.#store.list(WORKER_ROUTES, zoneScope(id)).map(({ value }): StoredRoute => value)
    if (routes.length > 0) this.#routes.set(id, routeTable(routes))
    else this.#routes.delete(id)
  }
}
