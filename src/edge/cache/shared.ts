import { createHash } from 'node:crypto'
import type { Clock } from '../../core/clock.js'
import type { TurnQueue } from '../../core/schedule/turn-queue.js'
import type { DiskTier } from './files/tier.js'
import type { Entry } from './entries/entry.js'
import type { MemoryStore } from './entries/memory.js'
import type { CacheMetrics } from './metrics.js'
import type { Purges } from './entries/purge.js'
import type { RawHeaders } from '../../http/headers.js'
import type { Exchange } from '../exchange/exchange.js'
import type { OriginExchange } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import type { StatusFacts } from './fields.js'
import type { OriginResponse } from './entries/policy.js'
import type { CacheRequest } from './delivery/request.js'
import type { CacheKey } from './key.js'
import type { SearchVariance, SearchVariances } from './search-variance.js'
import type { CacheOptions, CacheStatus } from './entries/types.js'

/** A request, and how it is sent to its origin. */
export interface CacheCall {
  readonly exchange: Exchange
  /** The request has a body or asks for another protocol. */
  readonly hasBody: boolean
  /** Name of the origin in keys. */
  readonly origin: string
  readonly turns: TurnQueue
  /** Called once before the request is sent. Returns true if a response has been sent already. */
  isLimited(): boolean
  /** Sends a request to the origin of the exchange, and the response to a sink. Returns how to cancel that. */
  send(request: OriginExchange, sink: ResponseSink): () => void
}

/** The request of a client, whose body the cache can read. */
export interface ClientCall extends CacheCall {
  /**
   * Reads the body, and calls `ready` with it, unless the client leaves first. The body is undefined if it is longer than
   * `limit`, or if no memory is left. A later {@link send} has all of the body nevertheless.
   */
  readBody(limit: number, ready: (body: Buffer | undefined) => void): void
}

/** A fetch, for the requests that share it. */
export interface SharedFetch {
  /** Key in the list of fetches. Undefined if others do not share the fetch. */
  readonly sharedAs: string | undefined
  /** The zone of a fetch in the background. */
  readonly updates: string | undefined
  /** Number of the last purge when it began. */
  readonly born: number
  /** The response that is being received. Undefined before its head, or if it is not stored. */
  readonly entry: Entry | undefined
  readonly isWaiting: boolean
  /** Whether another request can wait for the response. */
  readonly accepts: boolean
  /** Adds a request that waits for the head. */
  join(waiter: Waiter): void
  /** Removes a request whose client left. */
  leave(waiter: Waiter): void
  /** Called when a client has read more of a response that is not stored any more. */
  progressed(): void
}

/** One request that waits for a fetch. */
export interface Waiter {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  readonly url: string
  /** Returns the key of the request for a response with this variance. */
  keyFor(variance: SearchVariance | undefined): CacheKey
  send: CacheCall['send']
  /** Starts again, because the response of a fetch fits another request only. */
  restart(): void
  /** Whether a response that is being received answers this request. */
  fits(entry: Entry): boolean
  /** Responds from a response that is being received. `fields` are the fields that the client that began the fetch gets. */
  receive(fetch: SharedFetch, entry: Entry, status: CacheStatus, fields?: RawHeaders): void
  /** Responds from a stored response. */
  respond(entry: Entry, status: CacheStatus, facts?: Partial<StatusFacts>): void
  /** Sends the request to the origin as it is, and stores nothing. */
  pass(status: CacheStatus): void
  /** Whether it can get a response from the origin that was requested without its conditions. */
  acceptsWhole(headers: RawHeaders): boolean
  /** These pass on a response that is not stored. */
  passHead(fetch: SharedFetch, response: OriginResponse, status: CacheStatus): void
  passData(chunk: Buffer): boolean
  passEnd(trailers: RawHeaders | undefined): void
  onDrain(listener: () => void): void
  fail(error: unknown): void
}

/** State that all requests of one cache share. */
export interface CacheShared {
  readonly store: MemoryStore
  readonly purges: Purges
  /** Undefined without `cache.disk`. */
  readonly disk: DiskTier | undefined
  readonly fetches: Fetches
  readonly marks: Marks
  /** Keys of responses that are too large to be stored as a whole, and whose origin sends parts. */
  readonly large: Marks
  /** Names of the selecting fields of responses that are being received, by key. */
  readonly varying: Map<string, readonly string[]>
  readonly searches: SearchVariances
  readonly clock: Clock
  readonly metrics: CacheMetrics
  /** Returns the key of a request for a response with this variance. */
  keyOf(call: CacheCall, request: CacheRequest, variance: SearchVariance | undefined): CacheKey
  /** Maximum bytes of a body that is stored. */
  readonly maxObject: number
  /** Whether a stale response may be used because the origin fails. */
  mayUseStale(entry: Entry, zone: { readonly cache: CacheOptions }): boolean
}

/** Maximum fetches in the background for one zone. */
const MAX_UPDATES = 64

/** The fetches in progress. */
export class Fetches {
  readonly #all = new Set<SharedFetch>()
  readonly #shared = new Map<string, SharedFetch>()
  /** Number of fetches in the background by zone. */
  readonly #updates = new Map<string, number>()

  find(key: string): SharedFetch | undefined {
    return this.#shared.get(key)
  }

  add(fetch: SharedFetch): void {
    this.#all.add(fetch)
    if (fetch.updates !== undefined) this.#updates.set(fetch.updates, (this.#updates.get(fetch.updates) ?? 0) + 1)
    if (fetch.sharedAs !== undefined) this.#shared.set(fetch.sharedAs, fetch)
  }

  /** No request shares it from now on. */
  unshare(fetch: SharedFetch): void {
    if (fetch.sharedAs !== undefined && this.#shared.get(fetch.sharedAs) === fetch) this.#shared.delete(fetch.sharedAs)
  }

  remove(fetch: SharedFetch): void {
    this.unshare(fetch)
    if (!this.#all.delete(fetch) || fetch.updates === undefined) return
    const left = this.#updates.get(fetch.updates)! - 1
    if (left > 0) this.#updates.set(fetch.updates, left)
    else this.#updates.delete(fetch.updates)
  }

  /** Whether a zone may have one more fetch in the background. */
  mayUpdate(zone: string): boolean {
    return (this.#updates.get(zone) ?? 0) < MAX_UPDATES
  }

  /** Number of the last purge that every fetch in progress knows. */
  oldest(number: number): number {
    let oldest = number
    for (const { born } of this.#all) oldest = Math.min(oldest, born)
    return oldest
  }
}

const MARK_MS = 120_000
const MAX_MARKS = 10_000
/** Longer keys are represented by their hash, because clients choose how long keys are. */
const MAX_MARKED_KEY = 128

const markOf = (key: string): string =>
  key.length <= MAX_MARKED_KEY ? key : createHash('sha256').update(key, 'latin1').digest('base64')

/** Keys for a limited time, such as those whose last response was not stored. Requests for these do not wait for each other. */
export class Marks {
  readonly #until = new Map<string, number>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(key: string): void {
    const mark = markOf(key)
    this.#until.delete(mark)
    this.#until.set(mark, this.#clock.monotonic() + MARK_MS)
    if (this.#until.size > MAX_MARKS) this.#until.delete(this.#until.keys().next().value!)
  }

  has(key: string): boolean {
    if (this.#until.size === 0) return false
    const mark = markOf(key)
    const until = this.#until.get(mark)
    if (until === undefined) return false
    if (until > this.#clock.monotonic()) return true
    this.#until.delete(mark)
    return false
  }

  delete(key: string): void {
    if (this.#until.size > 0) this.#until.delete(markOf(key))
  }

  clear(): void {
    this.#until.clear()
  }
}
