import type { CacheConfig } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import type { DiskOwnerPort, DiskStart } from './files/owner.js'
import { DiskTier } from './files/tier.js'
import { isStatic } from './entries/extensions.js'
import { invalidatedGroups } from './groups.js'
import { cacheKey, searchPath, storedUrls, type KeyFacts } from './key.js'
import { Lookup } from './lookup.js'
import { InvalidatingSink, namedTargets, type Invalidated } from './invalidation.js'
import { MemoryStore } from './entries/memory.js'
import { CacheMetrics, type DiskCounts, type PurgeKind } from './metrics.js'
import { Purges, type Purge } from './entries/purge.js'
import { CacheRequest, cacheRequestOf } from './delivery/request.js'
import { isDescribed, MAX_QUERY_CONTENT, queryContent } from './delivery/query.js'
import { SearchVariances } from './search-variance.js'
import { Fetches, Marks, type CacheCall, type CacheShared, type ClientCall } from './shared.js'
import type { CacheReason } from '../../core/model/requests/cache-reason.js'

export interface CacheDeps {
  readonly facts: KeyFacts
  readonly clock: Clock
  readonly metrics: Metrics
  /** Undefined without `cache.disk`. */
  readonly disk?: CacheDisk | undefined
  /**
   * Makes other processes and machines remove the same. Resolves when all processes of this machine have done so.
   * Returns undefined if nobody has to wait. Never rejects.
   */
  readonly spread?: ((invalidated: Invalidated) => Promise<void> | undefined) | undefined
}

/** The disk tier with its files as they are at the start, and the owner that counts them. */
export interface CacheDisk {
  readonly start: DiskStart
  readonly owner: DiskOwnerPort
  /** What metrics show. Undefined in processes that do not own the files. */
  readonly counts?: DiskCounts
}

/** Maximum number of purges that entries are compared with before a sweep removes the purged entries. */
const MAX_PENDING_PURGES = 10_000
/** Entries that a sweep visits between two turns of the event loop. */
const SWEEP_BATCH = 1000
/** Time for which a stale response may be used with `always_online`, in seconds. */
const ALWAYS_ONLINE = 7 * 86_400

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'QUERY'])

/** A shared cache of responses of origins (RFC 9111), for all zones of a proxy. */
export class ResponseCache {
  readonly metrics: CacheMetrics
  readonly #shared: CacheShared & { maxObject: number }
  readonly #spread: CacheDeps['spread']
  #sweeping = false

  constructor({ memory, max_object }: CacheConfig, { facts, clock, metrics, disk, spread }: CacheDeps) {
    const store = new MemoryStore(memory)
    this.metrics = new CacheMetrics(metrics, store, disk?.counts)
    store.removed = ({ zone }, reason) => this.metrics.removed(zone, reason)
    store.changed = (zone, bytes, entries) => this.metrics.zones.changed(zone, bytes, entries)
    this.#spread = spread
    const purges = new Purges()
    const number = () => purges.number
    this.#shared = {
      store,
      purges,
      disk: disk && new DiskTier(disk.start, { owner: disk.owner, store, number, clock }),
      fetches: new Fetches(),
      marks: new Marks(clock),
      large: new Marks(clock),
      varying: new Map(),
      searches: new SearchVariances(),
      keyOf: ({ exchange, origin }, request, variance) => cacheKey(exchange, request, { origin, facts, variance }),
      clock,
      metrics: this.metrics,
      maxObject: max_object,
      mayUseStale(entry, zone) {
        const { lifetime, staleIfError, mustRevalidate } = entry.head.freshness
        const extra = zone.cache.alwaysOnline ? Math.max(staleIfError, ALWAYS_ONLINE) : staleIfError
        return !mustRevalidate && extra > 0 && entry.age(clock.monotonic()) < lifetime + extra
      },
    }
  }

  /** Applies other limits. Responses beyond them leave with the next ones that are stored. */
  configure({ memory, max_object }: CacheConfig): void {
    this.#shared.store.limit = memory
    this.#shared.maxObject = max_object
  }

  /**
   * Responds to a request from the cache, or sends it to its origin and stores the response. Returns how to cancel that.
   */
  serve(call: ClientCall, sink: ResponseSink): () => void {
    const { exchange } = call
    const { zone, method } = exchange
    if (zone.cache.mode === 'off' || this.#shared.store.limit === 0) return pass(call, sink)
    if (!SAFE.has(method)) {
      exchange.caching.status = 'DYNAMIC'
      exchange.caching.reason = 'method'
      const observe = (...[code, headers]: Parameters<ResponseSink['head']>) => this.#observe(exchange, code, headers)
      return pass(call, new InvalidatingSink(sink, observe))
    }
    const reason = this.#excluded(exchange, call.hasBody)
    if (reason) {
      exchange.caching.status = reason === 'development' ? 'BYPASS' : 'DYNAMIC'
      exchange.caching.reason = reason
      return pass(call, sink)
    }
    if (method === 'QUERY') return this.#serveQuery(call, sink)
    return this.#lookUp(call, cacheRequestOf(exchange), sink, exchange.routedAt)
  }

  /** `now`: the time on the clock's monotonic scale, if it was just read. */
  #lookUp(call: CacheCall, request: CacheRequest, sink: ResponseSink, now?: number): () => void {
    const { searches } = this.#shared
    const path = searches.size > 0 ? searchPath(call.exchange) : undefined
    const { key, url } = this.#shared.keyOf(call, request, path === undefined ? undefined : searches.find(path))
    const lookup = new Lookup(this.#shared, { call, request, key, url, sink })
    lookup.run(now)
    return () => lookup.cancel()
  }

  /** Responds when the content has arrived, because it is part of the key. */
  #serveQuery(call: ClientCall, sink: ResponseSink): () => void {
    const { exchange } = call
    let isCancelled = false
    let cancel = (): void => {
      isCancelled = true
      sink.fail(CLIENT_LEFT)
    }
    call.readBody(MAX_QUERY_CONTENT, (body) => {
      if (isCancelled) return
      if (body?.length)
        cancel = this.#lookUp(call, new CacheRequest(exchange.headers, queryContent(body, exchange.headers)), sink)
      else {
        exchange.caching.status = 'DYNAMIC'
        exchange.caching.reason = 'body'
        cancel = pass(call, sink)
      }
    })
    return () => cancel()
  }

  /**
   * Removes responses of a zone. No request gets a removed response after this returns. `version` is the version of the
   * purge record in the store.
   */
  purge(zone: string, purge: Purge, { kind, version }: { kind: PurgeKind; version: number }): void {
    this.metrics.purged(kind)
    this.#shared.purges.add(zone, purge)
    this.#shared.disk?.purge(zone, purge, version)
    this.#shared.marks.clear()
    this.#shared.large.clear()
    void this.#sweep()
  }

  /**
   * Removes responses that changed at the origin. Resolves when their files are removed. Returns undefined without
   * files.
   */
  invalidate({ zone, urls, groups = [] }: Invalidated): Promise<void> | undefined {
    const { purges, disk } = this.#shared
    purges.add(zone, { urls, tags: groups })
    if (purges.pending > MAX_PENDING_PURGES) void this.#sweep()
    return disk?.invalidate(zone, urls)
  }

  /** Finishes writing to disk. */
  async close(): Promise<void> {
    await this.#shared.disk?.close()
  }

  /** Applies a purge that was stored before this cache existed. Only files on disk can be older than the purge. */
  missed(zone: string, purge: Purge, version: number): void {
    this.#shared.disk?.purge(zone, purge, version)
  }

  /** Returns why the cache has nothing to do with a request. Undefined if it has. */
  #excluded(exchange: Exchange, hasBody: boolean): CacheReason | undefined {
    const { method, target, zone } = exchange
    const { cache } = exchange.decisions
    const isQuery = method === 'QUERY' && hasBody && isDescribed(exchange.rawHeaders)
    if (method !== 'GET' && method !== 'HEAD' && !isQuery) return 'method'
    if (hasBody && !isQuery) return 'body'
    if (cache?.cache === false) return 'rule_bypass'
    const isByEnding = zone.cache.mode === 'default' && cache?.cache !== true
    if (isByEnding && (isQuery || !isStatic(target))) return 'not_static'
    if (zone.cache.query === 'without' && target.includes('?')) return 'query'
    const port = portOf(exchange.hostField)
    if (port !== undefined && port !== exchange.local.localPort && !cache?.additional_cacheable_ports?.includes(port))
      return 'port'
    const { developmentUntil } = zone.cache
    return developmentUntil > 0 && developmentUntil > this.#shared.clock.now() ? 'development' : undefined
  }

  /** Invalidates the stored responses for the URLs of an unsafe request that succeeded (RFC 9111, 4.4). */
  #observe(exchange: Exchange, status: number, headers: RawHeaders): Promise<unknown> | undefined {
    if (status < 200 || status >= 400) return undefined
    const { zone, run, host } = exchange
    const targets = [exchange.target, ...namedTargets(exchange, headers)]
    const urls = targets.flatMap((target) => storedUrls(host + target))
    const groups = invalidatedGroups(headers, exchange)
    const invalidated = { zone: zone.id, urls, ...(groups.length > 0 && { groups }) }
    const removal = this.invalidate(invalidated)
    // Without rules only these can be stored anywhere.
    const mayBeStored =
      run !== undefined || zone.cache.mode === 'everything' || groups.length > 0 || targets.some(isStatic)
    const spread = mayBeStored ? this.#spread?.(invalidated) : undefined
    return removal && spread ? Promise.all([removal, spread]) : (removal ?? spread)
  }

  /** Removes what purges cover, so that they can be forgotten. */
  async #sweep(): Promise<void> {
    if (this.#sweeping) return
    this.#sweeping = true
    const { store, purges, fetches } = this.#shared
    try {
      for (;;) {
        const upTo = purges.number
        let visited = 0
        for (const entry of store.entries()) {
          if (purges.covers(entry)) store.remove(entry, 'purge')
          if (++visited % SWEEP_BATCH === 0) await new Promise(setImmediate)
        }
        purges.forget(fetches.oldest(upTo))
        if (purges.number === upTo) return
      }
    } finally {
      this.#sweeping = false
    }
  }
}

const NOTHING = (): void => undefined

/** Sends a request that the cache has nothing to do with. Returns how to cancel that. */
const pass = (call: CacheCall, sink: ResponseSink): (() => void) =>
  call.isLimited() ? NOTHING : call.send(call.exchange, sink)

/** Returns the port of a Host field, if it is not one of HTTP's own. */
function portOf(host: string): number | undefined {
  const colon = host.lastIndexOf(':')
  if (colon < 0 || host.endsWith(']')) return undefined
  const port = Number(host.slice(colon + 1))
  return port === 80 || port === 443 ? undefined : port
}
