import { Heap } from '../core/heap.js'
import type { Scope } from '../core/scope.js'
import type { Breaker } from './breaker.js'
import { Fifo } from './fifo.js'

/** A delivery that waits for its next attempt. */
export interface Waiting {
  readonly id: string
  /** Earliest time of the attempt, on a monotonic clock. */
  readonly dueAt: number
}

/** A delivery behind others with the same key. It is due immediately if it has had no attempt. */
type Behind = Pick<Waiting, 'id'> & Partial<Waiting>

/**
 * The deliveries of one webhook. Contains first attempts in the order of acceptance, retries when they are due. Deliveries
 * with the same key are attempted one at a time. Each is finished before the next one begins.
 */
export class DeliveryQueue {
  readonly scope: Scope
  readonly webhookId: string
  readonly breaker: Breaker
  /** Whether its webhook is enabled. */
  enabled = true
  /** Whether the sender has queued it as one that may have something to send. */
  queued = false

  #owned = false
  #first = new Fifo<string>()
  #again = new Heap<Waiting>(({ dueAt }) => dueAt)
  readonly #known = new Set<string>()
  /** Keys of the deliveries that have one. */
  readonly #keys = new Map<string, string>()
  /** The delivery of each key that is waiting for an attempt or in flight, and the deliveries behind it. */
  #heads = new Map<string, string>()
  #behind = new Map<string, Fifo<Behind>>()
  readonly #inFlight = new Set<string>()
  readonly #max: number

  /** `max` is the maximum number of concurrent attempts. */
  constructor(scope: Scope, webhookId: string, breaker: Breaker, max: number) {
    this.scope = scope
    this.webhookId = webhookId
    this.breaker = breaker
    this.#max = max
  }

  /** Returns whether this daemon holds the lease to send its deliveries. */
  get owned(): boolean {
    return this.#owned
  }

  /** Number of unfinished deliveries. */
  get size(): number {
    return this.#known.size
  }

  get inFlight(): number {
    return this.#inFlight.size
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  /** Ids of all unfinished deliveries, in the order in which they were added. */
  ids(): Iterable<string> {
    return this.#known
  }

  isInFlight(id: string): boolean {
    return this.#inFlight.has(id)
  }

  /** Takes the queue over. The caller then adds all known deliveries that are not in flight. */
  own(): void {
    this.#owned = true
  }

  /** Leaves the queue to another daemon. Unfinished deliveries stay known. */
  disown(): void {
    this.#owned = false
    this.#first = new Fifo()
    this.#again = new Heap(({ dueAt }) => dueAt)
    this.#heads = new Map([...this.#heads].filter(([, id]) => this.#inFlight.has(id)))
    this.#behind = new Map()
  }

  /** Records a delivery that another daemon sends. */
  know(id: string): void {
    this.#known.add(id)
  }

  /** Adds a delivery for its first attempt. */
  add(id: string, key?: string): void {
    this.#enter({ id }, key)
  }

  /** Adds a delivery for a retry. */
  addAgain(id: string, dueAt: number, key?: string): void {
    this.#enter({ id, dueAt }, key)
  }

  /** Makes the retry that is due first due now. Returns false if nothing waits for an attempt. */
  hasten(now: number): boolean {
    this.breaker.tryNow(now)
    if (this.#first.size > 0) return true
    const next = this.#again.pop()
    if (next) this.#again.push({ id: next.id, dueAt: Math.min(next.dueAt, now) })
    return next !== undefined
  }

  /** Ends an attempt. `again` is the time of the next attempt, if any. */
  done(id: string, again?: number): void {
    this.#inFlight.delete(id)
    if (again === undefined) this.forget(id)
    else if (this.#owned) this.#again.push({ id, dueAt: again })
    else this.#leave(id)
  }

  /** Removes a delivery that ended without an attempt. */
  forget(id: string): void {
    this.#known.delete(id)
    this.#leave(id)
  }

  /** Returns the time of the next possible attempt on the monotonic clock, or Infinity. */
  wakeAt(now: number): number {
    if (!this.enabled || !this.#owned || this.#inFlight.size >= this.#places) return Infinity
    const due = this.#first.size > 0 ? now : (this.#again.peek()?.dueAt ?? Infinity)
    return Math.max(due, this.breaker.until)
  }

  /** Returns the next delivery to attempt now and marks it as in flight. */
  take(now: number): string | undefined {
    while (this.wakeAt(now) <= now) {
      // New deliveries first, because a backlog of retries must not delay them.
      const id = this.#first.shift() ?? this.#again.pop()?.id
      if (id === undefined) return undefined
      if (!this.#known.has(id) || this.#inFlight.has(id)) continue
      this.#inFlight.add(id)
      return id
    }
    return undefined
  }

  #enter(waiting: Behind, key: string | undefined): void {
    const { id } = waiting
    this.#known.add(id)
    if (key === undefined) return this.#place(waiting)
    this.#keys.set(id, key)
    const head = this.#heads.get(key)
    if (head === undefined) this.#heads.set(key, id)
    if (head === undefined || head === id) return this.#place(waiting)
    const behind = this.#behind.get(key) ?? new Fifo<Behind>()
    this.#behind.set(key, behind)
    behind.push(waiting)
  }

  #place({ id, dueAt }: Behind): void {
    if (dueAt === undefined) this.#first.push(id)
    else this.#again.push({ id, dueAt })
  }

  /** Lets the next delivery with the key of a finished one wait for its attempt. */
  #leave(id: string): void {
    const key = this.#keys.get(id)
    this.#keys.delete(id)
    if (key === undefined || this.#heads.get(key) !== id) return
    this.#heads.delete(key)
    const behind = this.#behind.get(key)
    for (let next = behind?.shift(); next !== undefined; next = behind?.shift()) {
      if (!this.#known.has(next.id)) continue
      this.#heads.set(key, next.id)
      return this.#place(next)
    }
    this.#behind.delete(key)
  }

  /**
   * Maximum concurrent attempts. Starts at 1 and grows with each success, so that a destination that does not respond
   * occupies no slots that others could use.
   */
  get #places(): number {
    return Math.min(this.#max, 1 + this.breaker.successes)
  }
}
