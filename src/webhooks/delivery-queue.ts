import { Heap } from '../core/heap.js'
import type { Scope } from '../core/scope.js'
import type { Breaker } from './breaker.js'
import { Fifo } from './fifo.js'

/** A delivery that waits for its next try. */
export interface Waiting {
  readonly id: string
  /** Not before then, on a monotonic clock. */
  readonly dueAt: number
}

/** The deliveries of one webhook: first tries in the order of their acceptance, later ones when they are due. */
export class DeliveryQueue {
  readonly scope: Scope
  readonly webhookId: string
  readonly breaker: Breaker
  /** Whether its webhook takes deliveries. */
  enabled = true
  /** It stands in the line of those that may have something to send. */
  queued = false

  #owned = false
  #first = new Fifo<string>()
  #again = new Heap<Waiting>(({ dueAt }) => dueAt)
  readonly #known = new Set<string>()
  readonly #underWay = new Set<string>()
  readonly #most: number

  /** `most`: tries under way at a time. */
  constructor(scope: Scope, webhookId: string, breaker: Breaker, most: number) {
    this.scope = scope
    this.webhookId = webhookId
    this.breaker = breaker
    this.#most = most
  }

  /** Whether its deliveries are this daemon's to send. */
  get owned(): boolean {
    return this.#owned
  }

  /** Deliveries that are not over. */
  get size(): number {
    return this.#known.size
  }

  get underWay(): number {
    return this.#underWay.size
  }

  has(id: string): boolean {
    return this.#known.has(id)
  }

  /** Ids of all deliveries that are not over, in the order in which they became known. */
  ids(): Iterable<string> {
    return this.#known
  }

  isUnderWay(id: string): boolean {
    return this.#underWay.has(id)
  }

  /** Makes the lane this daemon's; what is known of must then be added, but for what is under way still. */
  own(): void {
    this.#owned = true
  }

  /** Leaves it to another daemon; what is not over stays known. */
  disown(): void {
    this.#owned = false
    this.#first = new Fifo()
    this.#again = new Heap(({ dueAt }) => dueAt)
  }

  /** Takes note of one that is another daemon's to send. */
  know(id: string): void {
    this.#known.add(id)
  }

  /** Adds one that has not been tried. */
  add(id: string): void {
    this.#known.add(id)
    this.#first.push(id)
  }

  /** Adds one that is tried again at a time of its own. */
  addAgain(id: string, dueAt: number): void {
    this.#known.add(id)
    this.#again.push({ id, dueAt })
  }

  /** Says that a try is over; `again` is when the next one is due. */
  done(id: string, again?: number): void {
    this.#underWay.delete(id)
    if (again === undefined) this.#known.delete(id)
    else if (this.#owned) this.#again.push({ id, dueAt: again })
  }

  /** Forgets one that is over for another reason. */
  forget(id: string): void {
    this.#known.delete(id)
  }

  /** When there is something to do, on the monotonic clock; Infinity while there is not, as far as is known. */
  wakeAt(now: number): number {
    if (!this.enabled || !this.#owned || this.#underWay.size >= this.#places) return Infinity
    const due = this.#first.size > 0 ? now : (this.#again.peek()?.dueAt ?? Infinity)
    return Math.max(due, this.breaker.until)
  }

  /** The next delivery to try now, which then is under way. */
  take(now: number): string | undefined {
    while (this.wakeAt(now) <= now) {
      // New deliveries first: a backlog of retries must not delay them.
      const id = this.#first.shift() ?? this.#again.pop()?.id
      if (id === undefined) return undefined
      if (!this.#known.has(id) || this.#underWay.has(id)) continue
      this.#underWay.add(id)
      return id
    }
    return undefined
  }

  /**
   * A destination begins with one try at a time and gets another place with each success: one that does not answer holds
   * up no places that others could use.
   */
  get #places(): number {
    return Math.min(this.#most, 1 + this.breaker.successes)
  }
}
