import { LRUCache } from 'lru-cache'
import type { Blobs } from '../core/blobs.js'
import { WORKER_DEPLOYMENTS, WORKER_SCRIPTS, WORKER_VERSIONS, type StoredVersion } from '../core/model/worker.js'
import { WORKER_DOMAINS, WORKER_ROUTES, type StoredDomain, type StoredRoute } from '../core/model/worker-routing.js'
import { account, zone as zoneScope, type Scope } from '../core/scope.js'
import type { Change, Store, Stored } from '../core/store.js'
import type { ResponseSink } from '../edge/response.js'
import { AssetResponse } from '../edge/assets/asset-response.js'
import { BlobCache } from '../edge/assets/blob-cache.js'
import type { Exchange } from '../edge/exchange.js'
import { CLIENT_LEFT } from '../edge/forward.js'
import { NotRunnable, type WorkerSite, type WorkerSites } from '../edge/worker-sites.js'
import type { AssetConfig } from '../workers/assets/config.js'
import { readManifest } from '../workers/assets/manifest.js'
import { AssetSite } from '../workers/assets/site.js'
import { routeTable, type RouteTable } from '../workers/route-table.js'
import { versionFor } from '../workers/traffic-split.js'

/** Files of all sites that are at hand, counted by their paths; sites that nobody asked for lately are read again. */
const MAX_FILES = 500_000

/**
 * The Workers in force: which of them is in charge of a request, by routes and domains, and what its version answers. A
 * change is seen by the next request, whichever machine it was made on.
 */
export class WorkerRegistry implements WorkerSites {
  readonly #store: Store
  readonly #blobs: Blobs
  readonly #cache: BlobCache
  readonly #sites = new LRUCache<string, AssetSite>({ maxSize: MAX_FILES })
  /** Sites that are being read, by version. */
  readonly #opening = new Map<string, Promise<AssetSite>>()
  /** Domains by host name, and what a removed record was called. */
  readonly #domains = new Map<string, { readonly service: string; readonly scope: Scope }>()
  readonly #names = new Map<string, string>()
  readonly #routes = new Map<string, RouteTable>()
  readonly #unwatch: () => void

  constructor(store: Store, blobs: Blobs, { cacheBytes }: { readonly cacheBytes: number }) {
    this.#store = store
    this.#blobs = blobs
    this.#cache = new BlobCache(async (blob) => await blobs.get(blob), cacheBytes)
    for (const stored of store.list(WORKER_DOMAINS)) this.#domain(stored)
    for (const zone of new Set(store.list(WORKER_ROUTES).map(({ scope }) => scope.id))) this.#route(zone)
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  close(): void {
    this.#unwatch()
  }

  find(exchange: Exchange): WorkerSite | undefined {
    const { zone, host, scheme, target } = exchange
    const query = target.indexOf('?')
    const routed = this.#routes.get(zone.id)?.find(scheme, host, query < 0 ? target : target.slice(0, query))
    if (routed === null) return undefined
    const domain = this.#domains.get(host)
    if (routed !== undefined) return this.#worker(account(zone.accountId), routed)
    return domain && domain.scope.id === zone.accountId ? this.#worker(domain.scope, domain.service) : undefined
  }

  #worker(scope: Scope, name: string): WorkerSite {
    return {
      serve: (exchange, sink) => {
        const version = this.#version(scope, name, exchange.clientAddress)
        if (!version?.assets) {
          sink.fail(new NotRunnable(`the Worker ${name} has no assets and cannot be run here`))
          return () => undefined
        }
        return this.#response(version, version.assets, exchange, sink)
      },
    }
  }

  /** The version that serves a visitor: of several the same one as before. */
  #version(scope: Scope, name: string, visitor: string): StoredVersion | undefined {
    const [current] = this.#store.get(WORKER_SCRIPTS, scope, name)?.value.deployments ?? []
    const deployment = current === undefined ? undefined : this.#store.get(WORKER_DEPLOYMENTS, scope, current)?.value
    const id = deployment && versionFor(visitor, deployment)
    return id === undefined ? undefined : this.#store.get(WORKER_VERSIONS, scope, id)?.value
  }

  #response(
    version: StoredVersion,
    assets: NonNullable<StoredVersion['assets']>,
    exchange: Exchange,
    sink: ResponseSink,
  ): () => void {
    const known = this.#sites.get(version.id)
    if (known) return this.#send(known, exchange, sink)
    let stop = (): void => sink.fail(CLIENT_LEFT)
    let left = false
    const begin = async (): Promise<void> => {
      try {
        const site = await this.#opened(version, assets)
        if (!left) stop = this.#send(site, exchange, sink)
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

  #send(site: AssetSite, exchange: Exchange, sink: ResponseSink): () => void {
    const response = new AssetResponse(site, exchange, sink, this.#cache)
    response.send()
    return () => response.cancel()
  }

  /** Those who ask for a site that is being read wait for the same reading. */
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
    const site = new AssetSite({ ...parts, compatibilityDate, compatibilityFlags })
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
