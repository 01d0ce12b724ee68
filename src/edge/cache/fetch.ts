import { headerOf, type RawHeaders, withoutHeader } from '../../http/headers.js'
import type { ResponseSink } from '../exchange/response.js'
import { runCacheRules } from '../rules/cache-rules.js'
import { Body } from './entries/body.js'
import { Entry } from './entries/entry.js'
import { FetchRequest } from './fetch-request.js'
import { storedFields, updatedFields, withoutAge } from './fields.js'
import { hasParts } from './parts/content-range.js'
import { judge, type OriginResponse, type Refusal, type Verdict } from './entries/policy.js'
import type { CacheShared, SharedFetch, Waiter } from './shared.js'
import { groupsOf, isGrouped } from './groups.js'
import { searchPath, type CacheKey } from './key.js'
import { searchVariance } from './search-variance.js'
import { tagsOf } from './tags.js'
import { varyKey, varyNames } from './vary.js'

/** Time after which requests that wait for the head of a response are sent to the origin themselves. */
const HEAD_MS = 5000
/** Maximum requests that share one fetch. */
const MAX_WAITERS = 1000
/** Responses of the origin for which a stale response may be used (RFC 5861, 4). */
const FAILURES = new Set([500, 502, 503, 504])
/** Bytes of a response that nobody needs, up to which its connection is kept. */
const SMALL_BODY = 65_536

/**
 * One request to an origin for any number of clients. The response is stored as it arrives, and each client gets it from
 * there. A response that must not be stored goes to the client that began, and the others send requests of their own.
 */
export class Fetch implements ResponseSink, SharedFetch {
  readonly copies = true
  readonly key: string
  /** Key in the list of fetches. Undefined if others do not share the fetch. */
  readonly sharedAs: string | undefined
  /** The response that is being received. Undefined before its head, or if it is not stored. */
  entry: Entry | undefined
  /** The zone of a fetch in the background. */
  readonly updates: string | undefined
  /** Number of the last purge when it began. */
  readonly born: number
  readonly #diskBorn: number
  readonly #shared: CacheShared
  readonly #leader: Waiter
  readonly #waiters = new Set<Waiter>()
  /** The stale response whose validators are sent. */
  readonly #stale: Entry | undefined
  readonly #startedAt: number
  #request: FetchRequest
  #state: 'waiting' | 'storing' | 'relaying' | 'passing' | 'over' = 'waiting'
  #cancelOrigin: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #drained: (() => void) | undefined
  /** The rest of the last chunk when memory ran out. */
  #rest: Buffer | undefined
  #endDue = false
  /** `data` returned false, and the origin waits. */
  #blocked = false

  /** `leader` is the exchange that causes it; it only waits for the response if it joins. */
  constructor(
    shared: CacheShared,
    leader: Waiter,
    { stale, sharedAs, isUpdate }: { stale: Entry | undefined; sharedAs: string | undefined; isUpdate: boolean },
  ) {
    this.#shared = shared
    this.#leader = leader
    this.key = leader.key
    this.sharedAs = sharedAs
    this.#stale = stale
    this.updates = isUpdate ? leader.exchange.zone.id : undefined
    this.born = shared.purges.number
    this.#diskBorn = shared.disk?.number ?? 0
    this.#startedAt = shared.clock.monotonic()
    this.#request = new FetchRequest(leader.exchange, leader.request, stale)
    shared.fetches.add(this)
  }

  get isWaiting(): boolean {
    return this.#state === 'waiting'
  }

  /** Whether another request can wait for the head of the response. */
  get accepts(): boolean {
    return (
      this.#waiters.size < MAX_WAITERS &&
      (this.#state === 'storing' ||
        (this.#state === 'waiting' && this.#shared.clock.monotonic() - this.#startedAt < HEAD_MS))
    )
  }

  /** Sends the request. */
  start(): void {
    this.#cancelOrigin = this.#leader.send(this.#request, this)
    if (this.#state === 'over') this.#cancelOrigin()
  }

  /** Adds a request that waits for the head. */
  join(lookup: Waiter): void {
    this.#waiters.add(lookup)
    if (this.#waiters.size < 2 || this.#timer) return
    this.#timer = setTimeout(() => this.#releaseWaiters(), HEAD_MS)
    this.#timer.unref()
  }

  /** Removes a request whose client left. A fetch that nobody waits for ends, unless its response has begun. */
  leave(lookup: Waiter): void {
    this.#waiters.delete(lookup)
    const isUnused = this.#waiters.size === 0
    if (this.#state === 'passing' || (this.#state === 'waiting' && isUnused)) this.#cancel()
    else if (this.#state === 'relaying') {
      if (this.entry?.body.isHeard) this.#flow()
      else this.#cancel()
    }
  }

  head(status: number, received: RawHeaders): void {
    if (this.#state !== 'waiting') return
    clearTimeout(this.#timer)
    const { exchange } = this.#leader
    this.#request.copyTo(exchange)
    const stale = this.#stale
    if (stale && status === 304) {
      this.#unchanged(stale, received)
      return
    }
    if (stale && FAILURES.has(status) && this.#shared.mayUseStale(stale, exchange.zone)) {
      this.#shared.metrics.revalidated('failed')
      this.#serveStale(stale)
      return
    }
    if (stale) this.#shared.metrics.revalidated(FAILURES.has(status) ? 'failed' : 'changed')
    const { headers, edgeControl } = this.#ruled(status, received)
    const response = this.#response(status, headers, edgeControl)
    const verdict = this.#judge(response)
    if (verdict.store) this.#store(response, verdict)
    else this.#pass(response, verdict.reason)
  }

  data(chunk: Buffer): boolean {
    if (this.#state === 'passing') return this.#leader.passData(chunk)
    const body = this.entry?.body
    if (!body || this.#state === 'over' || this.#state === 'waiting') return true
    if (this.#state === 'storing') {
      const before = body.length
      if (body.length + chunk.length <= this.#shared.maxObject && body.append(chunk)) return true
      this.#stopStoring(Buffer.from(chunk.subarray(body.length - before)))
    } else this.#rest = this.#rest ? Buffer.concat([this.#rest, chunk]) : Buffer.from(chunk)
    this.#blocked = !this.#flow()
    return !this.#blocked
  }

  end(trailers?: RawHeaders): void {
    if (this.#state === 'over' || this.#state === 'waiting') return
    this.#leader.exchange.origin.bytes = this.#request.origin.bytes
    if (this.#state === 'passing') {
      this.#finish()
      this.#leader.passEnd(trailers)
      return
    }
    if (this.#state === 'relaying' && this.#rest) {
      this.#endDue = true
      return
    }
    this.#complete()
  }

  fail(error: unknown): void {
    const state = this.#state
    if (state === 'over') return
    this.#request.copyTo(this.#leader.exchange)
    if (state === 'waiting') {
      const stale = this.#stale
      if (stale) this.#shared.metrics.revalidated('failed')
      if (stale && this.#shared.mayUseStale(stale, this.#leader.exchange.zone)) this.#serveStale(stale)
      else for (const lookup of this.#finish()) lookup.fail(error)
      return
    }
    this.#finish()
    if (state === 'passing') this.#leader.fail(error)
    else {
      if (state === 'storing') this.#shared.metrics.refused('incomplete')
      this.entry?.body.fail(error)
      this.entry?.body.release()
    }
  }

  onDrain(listener: () => void): void {
    this.#drained = listener
    if (this.#state === 'passing') this.#leader.onDrain(listener)
  }

  /** Called when a client has read more of a response that is not stored any more. */
  progressed(): void {
    if (this.#state !== 'relaying' || !this.#blocked || !this.#flow()) return
    this.#blocked = false
    this.#drained?.()
  }

  #response(status: number, headers: RawHeaders, edgeControl: string | undefined): OriginResponse {
    const { clock } = this.#shared
    const delay = Math.max(0, clock.monotonic() - (this.#request.origin.sentAt ?? this.#startedAt))
    return { status, headers, edgeControl, arrivedAt: clock.now(), delay }
  }

  /** Runs the rules about stored responses. They see the exchange that began the fetch. */
  #ruled(status: number, headers: RawHeaders): { headers: RawHeaders; edgeControl: string | undefined } {
    const { exchange } = this.#leader
    exchange.caching.haveRulesRun = true
    const { run, response } = exchange
    if (!run) return { headers, edgeControl: undefined }
    exchange.response = { status, headers, originHeaders: headers }
    run.responded()
    runCacheRules(exchange, run)
    const ruled = exchange.response
    // The response of an earlier fetch may still be on its way to the client.
    exchange.response = response
    return { headers: ruled.headers, edgeControl: ruled.edgeControl }
  }

  #judge(response: OriginResponse): Verdict {
    const { exchange, request } = this.#leader
    const { zone, target } = exchange
    const { cache } = exchange.decisions
    const length = headerOf(response.headers, 'content-length')
    const verdict = judge(response, {
      hasDefault: !request.content && (cache?.cache === true || zone.cache.mode === 'default'),
      settings:
        zone.plan === 'enterprise' || cache?.origin_cache_control !== false
          ? cache
          : { ...cache, origin_cache_control: true },
      target,
      authorization: request.authorization,
    })
    if (!verdict.store) return verdict
    if (length !== undefined && Number(length) > this.#shared.maxObject) return { store: false, reason: 'too_large' }
    // Without a length only TLS can tell the end of the response from a lost connection, and it rarely does.
    if (length === undefined && this.#endsWithConnection() && this.#request.origin.peer?.protocol !== 'none')
      return { store: false, reason: 'incomplete' }
    if (varyNames(response.headers, cache?.vary) === undefined) return { store: false, reason: 'vary' }
    return verdict
  }

  #endsWithConnection(): boolean {
    const { headers: raw = [], status: originStatus } = this.#request.origin
    return originStatus !== 204 && headerOf(raw, 'transfer-encoding') === undefined
  }

  #store(response: OriginResponse, { freshness, omitted }: Verdict & { store: true }): void {
    const { purges, store, clock, varying } = this.#shared
    const { exchange } = this.#leader
    const { headers, status } = response
    const settings = exchange.decisions.cache?.vary
    const vary = varyNames(headers, settings) ?? []
    const length = headerOf(headers, 'content-length')
    const entry = new Entry(
      {
        ...this.#place(headers),
        zone: exchange.zone.id,
        tags: [...tagsOf(headers), ...groupsOf(headers, exchange)],
        vary,
        varyKey: varyKey(vary, exchange.headers, settings),
        body: new Body(store, length === undefined || status === 204 ? undefined : Number(length)),
        born: this.born,
        diskBorn: this.#diskBorn,
      },
      {
        status,
        fields: storedFields(headers, omitted, response.arrivedAt),
        arrivedAt: clock.monotonic(),
        freshness,
      },
    )
    entry.checked = Math.min(this.born, purges.number)
    this.entry = entry
    this.#state = 'storing'
    if (vary.length > 0) varying.set(this.key, vary)
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const lookup of waiters) {
      if (lookup === this.#leader)
        lookup.receive(this, entry, this.#stale ? 'EXPIRED' : 'MISS', this.#ownFields(headers, omitted))
      else if (lookup.fits(entry)) {
        this.#shared.metrics.coalesced++
        lookup.receive(this, entry, 'MISS')
      } else lookup.restart()
    }
  }

  /** Returns the key and URL under which a response is stored. Its query can matter less than the key of the fetch says. */
  #place(headers: RawHeaders): CacheKey {
    const { searches, store, disk } = this.#shared
    const variance = searchVariance(headers)
    const path = variance || searches.size > 0 ? searchPath(this.#leader.exchange) : undefined
    if (path === undefined) return { key: this.key, url: this.#leader.url }
    searches.learn(path, variance)
    const place = this.#leader.keyFor(variance)
    if (this.#stale && this.#stale.key !== place.key) {
      store.remove(this.#stale, 'replaced')
      disk?.remove(this.#stale)
    }
    return place
  }

  /**
   * Returns the fields for the client that began the fetch. They include fields that are not for others, except cookies
   * that a rule removes.
   */
  #ownFields(headers: RawHeaders, omitted: ReadonlySet<string>): RawHeaders {
    const { cache } = this.#leader.exchange.decisions
    const dropsCookies =
      omitted.has('set-cookie') && (cache?.edge_ttl !== undefined || cache?.origin_cache_control === false)
    const fields = withoutHeader(withoutHeader(headers, 'content-length'), 'cf-cache-status')
    return dropsCookies ? withoutHeader(fields, 'set-cookie') : fields
  }

  /** Sends a response that is not stored to the client that began the fetch. The other clients send separate requests. */
  #pass(response: OriginResponse, reason: Refusal): void {
    const { metrics, marks, large, store, disk } = this.#shared
    metrics.refused(reason)
    this.#leader.exchange.caching.reason = reason
    marks.add(this.key)
    const isParted = reason === 'too_large' && hasParts(response.status, response.headers)
    if (isParted) large.add(this.key)
    if (this.#stale && response.status < 500) {
      store.remove(this.#stale, 'replaced')
      disk?.remove(this.#stale)
    }
    const leads = this.#waiters.delete(this.#leader)
    const status =
      FORBIDDEN.has(reason) && !(reason === 'set_cookie' && this.#leader.exchange.decisions.cache?.cache)
        ? 'BYPASS'
        : 'MISS'
    const others = this.#detach()
    if (leads && this.#leader.acceptsWhole(response.headers)) {
      this.#state = 'passing'
      this.#leader.passHead(this, response, status)
    } else {
      this.#cancel()
      if (leads && isParted) this.#leader.restart()
      else if (leads) this.#leader.pass(status)
    }
    for (const lookup of others) lookup.pass(status)
  }

  /** The stale response is valid again. */
  #unchanged(stale: Entry, received: RawHeaders): void {
    const { metrics, store, disk } = this.#shared
    const tag = headerOf(received, 'etag')
    // A strong validator must be the one of the stored response (RFC 9111, 4.3.4).
    if (tag !== undefined && stale.etag !== undefined && weakly(tag) !== weakly(stale.etag)) {
      store.remove(stale, 'invalid')
      disk?.remove(stale)
      for (const lookup of this.#finish()) lookup.restart()
      return
    }
    metrics.revalidated('unchanged')
    const before = stale.head.fields
    const { headers, edgeControl } = this.#ruled(stale.head.status, updatedFields(before, received))
    const verdict = this.#judge(this.#response(stale.head.status, withoutAge(headers, received), edgeControl))
    const arrivedAt = this.#shared.clock.monotonic()
    if (verdict.store) {
      store.update(stale, {
        status: stale.head.status,
        fields: storedFields(headers, verdict.omitted, this.#shared.clock.now()),
        arrivedAt,
        freshness: verdict.freshness,
      })
      void disk?.update(stale)
    }
    stale.body.retain()
    const isElsewhere = searchVariance(headers)?.text !== searchVariance(before)?.text
    if (!verdict.store || isElsewhere) {
      store.remove(stale, 'replaced')
      disk?.remove(stale)
    }
    for (const lookup of this.#finish()) lookup.respond(stale, 'REVALIDATED', { originStatus: 304 })
    stale.body.release()
  }

  #serveStale(stale: Entry): void {
    const small = Number(headerOf(this.#request.origin.headers ?? [], 'content-length') ?? Infinity) <= SMALL_BODY
    const waiters = this.#finish()
    if (!small) this.#cancelOrigin?.()
    for (const lookup of waiters) lookup.respond(stale, 'STALE', { originStatus: this.#request.origin.status })
  }

  /**
   * Stops storing because memory ran out or the body is larger than allowed. Clients that already read the body still
   * get it.
   */
  #stopStoring(rest: Buffer): void {
    this.#shared.metrics.refused(
      this.entry!.body.length + rest.length > this.#shared.maxObject ? 'too_large' : 'no_memory',
    )
    this.#shared.marks.add(this.key)
    this.#state = 'relaying'
    this.#shared.fetches.unshare(this)
    this.#rest = rest
    const { body } = this.entry!
    // What does not fit into memory goes to disk as it arrives.
    const isWritable = body.expected !== undefined && body.expected <= this.#shared.maxObject
    if (isWritable && !this.#shared.purges.covers(this.entry!)) this.#toDisk()
    if (!this.entry!.body.isHeard) this.#cancel()
  }

  /** Passes the rest on when every client has read the bytes before it. Returns false if a client has not. */
  #flow(): boolean {
    const body = this.entry?.body
    if (!body || this.#state !== 'relaying') return true
    if (!body.caughtUp) return false
    if (this.#rest) {
      const rest = this.#rest
      this.#rest = undefined
      body.relay(rest)
    }
    if (this.#endDue) this.#complete()
    return body.caughtUp
  }

  #complete(): void {
    const { metrics, store, purges } = this.#shared
    const isStored = this.#state === 'storing'
    this.#finish()
    const entry = this.entry
    if (!entry) return
    entry.body.seal()
    if (isStored && purges.covers(entry)) metrics.refused('purged')
    else if (isStored && store.insert(entry)) {
      metrics.stored++
      this.#shared.marks.delete(this.key)
      this.#toDisk()
      // Representations that clients derive from the last bytes are attached to the entry.
      entry.body.end()
      return
    } else if (isStored) metrics.refused('no_memory')
    entry.body.end()
    entry.body.release()
  }

  #toDisk(): void {
    // An invalidation of groups reaches only responses in memory.
    if (isGrouped(this.entry!.tags)) return
    const { exchange } = this.#leader
    const { eligible = false, minimum_file_size: minimum = 0 } = exchange.decisions.cache?.cache_reserve ?? {}
    const entry = this.entry!
    const isReserve = eligible && (entry.body.expected ?? entry.body.length) >= minimum
    this.#shared.disk?.write(entry, { isReserve, progressed: () => this.progressed() })
  }

  /** Ends it without the origin. */
  #cancel(): void {
    const entry = this.entry
    this.#finish()
    entry?.body.release()
    this.#cancelOrigin?.()
  }

  #releaseWaiters(): void {
    if (this.#state !== 'waiting') return
    for (const lookup of this.#waiters) {
      if (lookup === this.#leader) continue
      this.#waiters.delete(lookup)
      lookup.pass('MISS')
    }
  }

  /** Ends the fetch for others. Returns those who wait. */
  #finish(): Waiter[] {
    this.#state = 'over'
    return this.#detach()
  }

  #detach(): Waiter[] {
    clearTimeout(this.#timer)
    this.#shared.fetches.remove(this)
    if (this.#shared.varying.get(this.key) === this.entry?.vary) this.#shared.varying.delete(this.key)
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    return waiters
  }
}

/** Reasons for which a response is reported as BYPASS, because the response forbids storing. */
const FORBIDDEN: ReadonlySet<Refusal> = new Set([
  'no_store',
  'private',
  'no_cache',
  'set_cookie',
  'vary',
  'authorization',
  'rule',
  'deception',
])

const weakly = (tag: string): string => tag.replace(/^w\//i, '')
