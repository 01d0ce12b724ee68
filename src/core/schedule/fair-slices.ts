import type { Pause } from './event-loop-yield.js'

/** Length of a slice if one account has work. */
const ALONE_MS = 4
/** Length of a slice while several accounts have work. A short request needs several turns of the event loop. */
const SHARED_MS = 1

/**
 * Shares the thread between accounts. In each turn of the event loop one task works for one slice, and the accounts take
 * turns, so that the number of tasks of one account does not delay the tasks of another.
 */
export class FairSlices {
  /** Number of tasks in progress, by account. */
  readonly #tasks = new Map<unknown, number>()
  /** Tasks that wait for a slice, by account. The first account is next. */
  readonly #waiting = new Map<unknown, (() => void)[]>()
  #began = performance.now()
  #scheduled = false

  /** Runs a task of an account. The task calls `pause` between short steps. */
  async run<T>(account: unknown, task: (pause: Pause) => Promise<T>): Promise<T> {
    this.#tasks.set(account, (this.#tasks.get(account) ?? 0) + 1)
    try {
      return await task(async () => await this.#pause(account))
    } finally {
      const left = this.#tasks.get(account)! - 1
      if (left > 0) this.#tasks.set(account, left)
      else this.#tasks.delete(account)
    }
  }

  async #pause(account: unknown): Promise<void> {
    const sliceMs = this.#tasks.size > 1 ? SHARED_MS : ALONE_MS
    if (!this.#scheduled && performance.now() - this.#began < sliceMs) return
    await new Promise<void>((resolve) => {
      const waiting = this.#waiting.get(account)
      if (waiting) waiting.push(resolve)
      else this.#waiting.set(account, [resolve])
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    this.#began = performance.now()
    const [account, waiting] = this.#waiting.entries().next().value!
    this.#waiting.delete(account)
    const next = waiting.shift()!
    // Behind the other accounts.
    if (waiting.length > 0) this.#waiting.set(account, waiting)
    next()
    if (this.#waiting.size > 0) this.#schedule()
  }
}

/** Slices of all work that reads incoming records and findings. One thread reads them all. */
export const INGEST_SLICES = new FairSlices()
