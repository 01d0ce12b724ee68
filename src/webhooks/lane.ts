import { Heap } from '../core/heap.js'
import type { Scope } from '../core/scope.js'
import type { Breaker } from './breaker.js'

/** A delivery that waits for its next try. */
export interface Waiting {
  readonly id: string
  /** Not before then, on a monotonic clock. */
  readonly dueAt: number
}

/** Ids in the order in which they came; taking the first costs no more than adding one. */
class Line {
  #ids: string[] = []
  #from = 0

  get size(): number {
    return this.#ids.length - this.#from
  }

  push(id: string): void {
    this.#ids.push(id)
  }

  shift(): string | undefined {
    const id = this.#ids[this.#from]
    if (id === undefined) return undefined
    this.#from++
    if (this.#from > 1024 && 2 * this.#from > this.#ids.length) {
      this.#ids = this.#ids.slice(this.#from)
      this.#from = 0
    }
    return id
  }
}

/** The deliveries of one webhook: first tries in the order of their acceptance, later ones when they are due. */
export class Lane {
  readonly scope: Scope
  readonly webhookId: string
  readonly breaker: Breaker
  /** Whether its webhook takes deliveries, and whether they are this daemon's to send. */
  enabled = true
  owned = false
  /** It stands in the line of those that may have something to send. */
  queued = false

  readonly #first = new Line()
  readonly #again = new Heap<Waiting>(({ dueAt }) => dueAt)
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

  /** Ids of all deliveries that are not over. */
  ids(): Iterable<string> {
    return this.#known
  }

  isUnderWay(id: string): boolean {
    return this.#underWay.has(id)
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
    else this.#again.push({ id, dueAt: again })
  }

  /** Forgets one that is over for another reason. */
  forget(id: string): void {
    this.#known.delete(id)
  }

  /** Forgets all that is not under way. */
  clear(): void {
    for (const id of this.#known) if (!this.#underWay.has(id)) this.#known.delete(id)
  }

  /** When there is something to do, on the monotonic clock; Infinity while there is not, as far as is known. */
  wakeAt(now: number): number {
    if (!this.enabled || !this.owned || this.#underWay.size >= this.#places) return Infinity
    const due = this.#first.size > 0 ? now : (this.#again.peek()?.dueAt ?? Infinity)
    return Math.max(due, this.breaker.until)
  }

  /** The next delivery to try now, which then is under way. */
  take(now: number): string | undefined {
    while (this.wakeAt(now) <= now) {
      const due = this.#again.peek()
      const id = due !== undefined && due.dueAt <= now ? this.#again.pop()?.id : this.#first.shift()
      if (id === undefined) return undefined
      if (!this.#known.has(id)) continue
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
