import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT, type OriginExchange } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { select, type Span } from './delivery/conditions.js'
import { Delivery, type Piece } from './delivery/delivery.js'
import { FileDelivery, shortBody } from './files/file-delivery.js'
import type { OpenFile } from './files/open-files.js'
import type { Entry, Variant } from './entries/entry.js'
import { Fetch } from './fetch.js'
import { notModifiedFields, withCacheStatus, type StatusFacts } from './fields.js'
import { fieldsOf, hitFields } from './hit-fields.js'
import { multipart, rangeText } from './delivery/multipart-ranges.js'
import type { OriginResponse } from './entries/policy.js'
import { RangedLookup } from './ranged-lookup.js'
import { partsRange } from './parts-range.js'
import type { CacheRequest } from './delivery/request.js'
import type { CacheKey } from './key.js'
import type { SearchVariance } from './search-variance.js'
import type { CacheCall, CacheShared, SharedFetch, Waiter } from './shared.js'
import type { CachedResponse, CacheStatus, Derive, VariantRecorder } from './entries/types.js'
import { derive, MemoryRecorder } from './delivery/variants.js'
import { sameNames, varyKey } from './vary.js'

interface LookupParts {
  readonly call: CacheCall
  readonly request: CacheRequest
  readonly key: string
  readonly url: string
  readonly sink: ResponseSink
}

/** One request for a response that can be in the cache. */
export class Lookup implements CachedResponse, Waiter {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  readonly url: string
  isFirst = false
  form = ''
  body: CachedResponse['body'] = 'send'
  readonly #shared: CacheShared
  readonly #call: CacheCall
  readonly #sink: ResponseSink
  #fetch: SharedFetch | undefined
  #delivery: Delivery | FileDelivery | undefined
  /** The body of a response that is on disk only. It is open until it is sent. */
  #file: OpenFile | undefined
  #hasTriedDisk = false
  #isCancelled = false
  #cancelPass: (() => void) | undefined
  #entry: Entry | undefined
  /** The last result of {@link #varyKey}. */
  #varied: { headers: RawHeaders; names: readonly string[]; key: string } | undefined
  #restarts = 0
  /** When the response was found to be fresh, on the clock's monotonic scale. */
  #now = 0

  constructor(shared: CacheShared, parts: LookupParts) {
    this.#shared = shared
    this.#call = parts.call
    this.exchange = parts.call.exchange
    this.request = parts.request
    this.key = parts.key
    this.url = parts.url
    this.#sink = parts.sink
  }

  keyFor(variance: SearchVariance | undefined): CacheKey {
    return this.#shared.keyOf(this.#call, this.request, variance)
  }

  send(request: OriginExchange, sink: ResponseSink): () => void {
    return this.#call.send(request, sink)
  }

  /** Responds from the cache, or fetches the response. `now`: the time on the clock's monotonic scale, if it was just read. */
  run(now?: number): void {
    const entry = this.#find()
    const loading = entry || this.#hasTriedDisk ? undefined : this.#fromDisk()
    if (!loading) {
      this.#proceed(entry, now)
      return
    }
    this.#hasTriedDisk = true
    void this.#loaded(loading)
  }

  async #loaded(loading: Promise<Entry | undefined>): Promise<void> {
    const found = await loading
    if (this.#isCancelled) return
    const present = this.#find() ?? found
    // It had to leave memory again.
    if (present && !present.resident) present.isStreamed = true
    this.exchange.caching.isFromDisk = found !== undefined
    this.#proceed(present)
  }

  /** Looks for the response on disk. Returns undefined if it is not there, or if it is being received. */
  #fromDisk(): Promise<Entry | undefined> | undefined {
    const { disk, fetches } = this.#shared
    if (!disk || fetches.find(this.#sharedKey())) return undefined
    const { key, url, exchange } = this
    const varyKeyOf = (names: readonly string[]) => varyKey(names, exchange.headers, exchange.decisions.cache?.vary)
    return disk.find({ zone: exchange.zone.id, url, key, varyKey: varyKeyOf })
  }

  /** Responds from the entry, or fetches the response. */
  #proceed(entry: Entry | undefined, now = this.#shared.clock.monotonic()): void {
    const { store } = this.#shared
    const { request, exchange } = this
    if (!entry) {
      if (request.onlyIfCached) this.#only504()
      else this.#miss(undefined)
      return
    }
    if (request.authorization && !entry.head.freshness.forAuthorized) {
      this.exchange.caching.reason = 'authorization'
      this.pass('BYPASS')
      return
    }
    const { lifetime, staleWhileRevalidate } = entry.head.freshness
    const age = entry.age(now)
    if (age < lifetime) {
      store.hit(entry)
      this.#shared.metrics.zones.hit(entry.zone, age)
      this.#now = now
      this.respond(entry, 'HIT')
      return
    }
    const swr = exchange.decisions.cache?.serve_stale?.disable_stale_while_updating ? 0 : staleWhileRevalidate
    if (age < lifetime + swr) {
      store.hit(entry)
      const isUpdating = this.#shared.fetches.find(this.#sharedKey()) !== undefined
      if (!isUpdating) this.#update(entry)
      this.respond(entry, 'UPDATING')
      return
    }
    if (request.onlyIfCached) this.#only504()
    else this.#miss(entry)
  }

  /** Starts again, because the response of a fetch fits another request only. */
  restart(): void {
    this.#fetch = undefined
    if (this.#restarts++ > 0) this.pass('MISS')
    else this.run()
  }

  /** Whether a response that is being received answers this request. */
  fits(entry: Entry): boolean {
    return (
      (!this.request.authorization || entry.head.freshness.forAuthorized) &&
      (entry.vary.length === 0 || this.#varyKey(entry) === entry.varyKey)
    )
  }

  /** Responds from a response that is being received. `fields` are the fields that the client that began the fetch gets. */
  receive(fetch: SharedFetch, entry: Entry, status: CacheStatus, fields?: RawHeaders): void {
    this.#fetch = fetch
    this.isFirst = fields !== undefined
    this.respond(entry, status, { isStored: fields !== undefined, isCollapsed: fields === undefined }, fields)
  }

  /** Responds from a stored response, or one that is being received. */
  respond(entry: Entry, status: CacheStatus, facts: Partial<StatusFacts> = {}, fields?: RawHeaders): void {
    const { exchange, request } = this
    if (entry.isStreamed && !this.#file) {
      this.#file = this.#shared.disk?.opened(entry)
      if (!this.#file) {
        void this.#open(entry, status, facts, fields)
        return
      }
    }
    this.#entry = entry
    // Nothing is derived from a response that is not in memory.
    if (entry.isStreamed) this.isFirst = exchange.caching.isFromDisk = true
    exchange.caching.status = status
    exchange.caching.haveRulesRun = true
    exchange.caching.response = this
    try {
      if (!request.conditional && status === 'HIT') this.#whole(entry, hitFields(entry, exchange, this.#now))
      else this.#respond(entry, { ...facts, status }, fields)
    } catch (error) {
      this.#file?.release()
      this.#file = undefined
      this.#sink.fail(error)
    }
  }

  /** Opens the file of a response, then responds. Without it the response is fetched. */
  async #open(...[entry, status, facts, fields]: Parameters<Lookup['respond']>): Promise<void> {
    const file = await this.#shared.disk?.open(entry)
    if (this.#isCancelled) file?.release()
    else if (file) {
      this.#file = file
      this.respond(entry, status, facts, fields)
    } else {
      this.#shared.store.remove(entry, 'invalid')
      this.restart()
    }
  }

  /** Sends the request to the origin as it is, and stores nothing. */
  pass(status: CacheStatus): void {
    this.#fetch = undefined
    if (this.#call.isLimited()) return
    this.exchange.caching.status = status
    this.exchange.caching.haveRulesRun = false
    this.#cancelPass = this.send(this.exchange, this.#sink)
  }

  /** Whether it can get a response from the origin that was requested without its conditions. */
  acceptsWhole(headers: RawHeaders): boolean {
    const { request, exchange } = this
    return !request.conditional || (exchange.method === 'HEAD' && headerOf(headers, 'content-length') === undefined)
  }

  passHead(fetch: SharedFetch, { status, headers }: OriginResponse, cacheStatus: CacheStatus): void {
    this.#fetch = fetch
    this.exchange.caching.status = cacheStatus
    this.#sink.head(status, withCacheStatus(headers, { status: cacheStatus, originStatus: status }))
    if (this.exchange.method !== 'HEAD') return
    this.#fetch = undefined
    fetch.leave(this)
    this.#sink.end()
  }

  passData(chunk: Buffer): boolean {
    return this.#sink.data(this.#sink.copies ? chunk : Buffer.from(chunk))
  }

  passEnd(trailers: RawHeaders | undefined): void {
    this.#fetch = undefined
    this.#sink.end(trailers)
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener)
  }

  fail(error: unknown): void {
    this.#fetch = undefined
    this.exchange.caching.status = undefined
    this.#sink.fail(error)
  }

  /** The client left. */
  cancel(): void {
    this.#isCancelled = true
    if (this.#cancelPass) {
      this.#cancelPass()
      return
    }
    this.#delivery?.cancel()
    this.#leaveFetch()
    this.#sink.fail(CLIENT_LEFT)
  }

  variant(name: string): Variant | undefined {
    return this.#entry?.variants?.get(name)
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#entry?.body.failure
  }

  record(name: string): VariantRecorder {
    return new MemoryRecorder(this.#shared.store, this.#entry!, name)
  }

  derive(name: string, open: Derive, done: (variant: Variant | undefined) => void): void {
    const entry = this.#entry!
    const fetch = this.#fetch
    derive({ store: this.#shared.store, entry, name, progressed: () => fetch?.progressed() }, open, done)
  }

  /** Removes the response from the cache. */
  discard(): void {
    const entry = this.#entry
    if (!entry) return
    this.#shared.store.remove(entry, 'invalid')
    this.#shared.disk?.remove(entry)
  }

  sendBody(): void {
    this.body = 'send'
    this.#deliver(this.#entry!, undefined)
  }

  /** Returns the newest stored response for the request. */
  #find(): Entry | undefined {
    const { store, purges } = this.#shared
    const entries = store.find(this.key)
    if (!entries) return undefined
    for (let i = entries.length - 1; i >= 0; i--) {
      const entry = entries[i]!
      if (entry.vary.length > 0 && this.#varyKey(entry) !== entry.varyKey) continue
      if (!purges.covers(entry)) return entry
      store.remove(entry, 'purge')
      return this.#find()
    }
    return undefined
  }

  /** Computed once for the representations of one response, because a client chooses how long the values are. */
  #varyKey({ vary }: Entry): string {
    const { headers } = this.exchange
    const { cache } = this.exchange.decisions
    const known = this.#varied
    if (known?.headers === headers && sameNames(known.names, vary)) return known.key
    const key = varyKey(vary, headers, cache?.vary)
    this.#varied = { headers, names: vary, key }
    return key
  }

  /** Returns the key under which requests share a fetch. It has the selecting fields, if they are known. */
  #sharedKey(): string {
    const names = this.#shared.store.find(this.key)?.at(-1)?.vary ?? this.#shared.varying.get(this.key)
    if (!names || names.length === 0) return this.key
    return `${this.key}\n${varyKey(names, this.exchange.headers, this.exchange.decisions.cache?.vary)}`
  }

  #miss(stale: Entry | undefined): void {
    const { fetches, marks } = this.#shared
    const range = stale === undefined ? partsRange(this.#shared, this) : undefined
    if (range) {
      const { request, key, url } = this
      const open = (parts: LookupParts) => new Lookup(this.#shared, parts)
      const call = this.#call
      const ranged = new RangedLookup(this.#shared, { call, request, key, url, sink: this.#sink, range, open })
      this.#cancelPass = () => ranged.cancel()
      ranged.run()
      return
    }
    if (this.request.range !== undefined && this.exchange.decisions.cache?.origin_range_requests?.mode === 'on') {
      this.pass('MISS')
      return
    }
    const sharedAs = this.#sharedKey()
    const present = this.#current(fetches.find(sharedAs))
    if (present?.accepts) {
      if (present.isWaiting) {
        this.#fetch = present
        present.join(this)
      } else if (present.entry && this.fits(present.entry)) {
        this.#shared.metrics.coalesced++
        this.receive(present, present.entry, 'MISS')
      } else this.pass('MISS')
      return
    }
    const isMarked = marks.has(this.key)
    // A response that was not stored before will probably not be stored now. So conditions and ranges are left to the
    // origin.
    if (present || (isMarked && (this.request.conditional || this.exchange.method === 'HEAD'))) {
      this.pass(isMarked ? 'BYPASS' : 'MISS')
      return
    }
    if (this.#call.isLimited()) return
    const fetch = new Fetch(this.#shared, this, { stale, sharedAs: isMarked ? undefined : sharedAs, isUpdate: false })
    this.#fetch = fetch
    fetch.join(this)
    fetch.start()
  }

  /** Returns a fetch that this request may share. A fetch that began before a purge of its URL is not returned. */
  #current(fetch: SharedFetch | undefined): SharedFetch | undefined {
    if (!fetch) return undefined
    const { born, entry } = fetch
    const { zone } = this.exchange
    return this.#shared.purges.coversFetch({ zone: zone.id, url: this.url, born, tags: entry?.tags })
      ? undefined
      : fetch
  }

  /** Fetches a new response in the background. */
  #update(stale: Entry): void {
    if (!this.#shared.fetches.mayUpdate(stale.zone)) return
    new Fetch(this.#shared, this, { stale, sharedAs: this.#sharedKey(), isUpdate: true }).start()
  }

  #only504(): void {
    this.exchange.caching.status = undefined
    this.#sink.head(504, ['cache-control', 'no-store', 'content-length', '0'])
    this.#sink.end()
  }

  #respond(entry: Entry, facts: StatusFacts, own: RawHeaders | undefined): void {
    const { request, exchange } = this
    const { method } = exchange
    const { status } = entry.head
    const { body } = entry
    const length = body.complete ? body.length : body.expected
    const fields = fieldsOf(entry, exchange, { facts, now: this.#shared.clock.monotonic(), own })
    const { etag, lastModified } = entry
    const selection = request.conditional
      ? select(request, { status, method, length, etag, lastModified })
      : ({ kind: 'whole' } as const)
    switch (selection.kind) {
      case 'not_modified':
        this.#bare(304, notModifiedFields(fields))
        break
      case 'precondition_failed':
        this.#bare(412, [...notModifiedFields(fields), 'content-length', '0'])
        break
      case 'unsatisfiable':
        this.#bare(416, [...notModifiedFields(fields), 'content-range', `bytes */${length}`, 'content-length', '0'])
        break
      case 'parts':
        this.#parts(entry, fields, selection.parts, length!)
        break
      case 'whole':
        if (length !== undefined && status !== 204) fields.push('content-length', String(length))
        this.#whole(entry, fields)
    }
  }

  #bare(status: number, fields: RawHeaders): void {
    this.exchange.caching.response = undefined
    this.#leaveFetch()
    this.#head(status, fields)
    this.#sink.end()
  }

  #whole(entry: Entry, fields: RawHeaders): void {
    this.#head(entry.head.status, fields)
    if (this.body === 'hold') return
    if (this.exchange.method === 'HEAD' || this.body === 'skip') {
      this.#leaveFetch()
      this.#sink.end()
      return
    }
    this.#deliver(entry, undefined)
  }

  #parts(entry: Entry, fields: string[], parts: readonly Span[], length: number): void {
    const [only] = parts
    this.exchange.caching.response = undefined
    if (parts.length === 1 && only) {
      fields.push('content-range', rangeText(only, length), 'content-length', String(only.to - only.from))
      this.#head(206, fields)
      this.#deliver(entry, [only])
      return
    }
    const { pieces, bytes, boundary } = multipart(parts, length, headerOf(fields, 'content-type'))
    const type = ['content-type', `multipart/byteranges; boundary=${boundary}`, 'content-length', String(bytes)]
    this.#head(206, [...fields.filter((_, i) => fields[i - (i % 2)]!.toLowerCase() !== 'content-type'), ...type])
    this.#deliver(entry, pieces)
  }

  #head(status: number, fields: RawHeaders): void {
    this.exchange.caching.responseStatus = status
    this.#sink.head(status, fields)
  }

  #deliver(entry: Entry, pieces: readonly Piece[] | undefined): void {
    const fetch = this.#fetch
    if (!pieces && !fetch && this.#deliverShort(entry)) return
    const done = () => {
      this.exchange.caching.bytes = delivery.bytes
      this.#delivery = undefined
      this.#leaveFetch()
    }
    const file = this.#file
    // The delivery releases it.
    this.#file = undefined
    const delivery = file
      ? new FileDelivery(file, this.#sink, { pieces, done })
      : new Delivery(entry.body, this.#sink, {
          pieces,
          done,
          progressed: () => fetch?.progressed(),
          turns: this.#call.turns,
        })
    this.#delivery = delivery
    delivery.start()
  }

  /** Sends a whole body in one piece, if it is short and can be read without waiting. Returns false if it is not. */
  #deliverShort(entry: Entry): boolean {
    const file = this.#file
    const body = file ? shortBody(file, this.#sink) : entry.body.short
    if (!body) return false
    this.exchange.caching.bytes = body.length
    this.#sink.data(body)
    this.#leaveFetch()
    this.#sink.end()
    return true
  }

  #leaveFetch(): void {
    this.#file?.release()
    this.#file = undefined
    const fetch = this.#fetch
    this.#fetch = undefined
    fetch?.leave(this)
  }
}
