import type { Clock } from '../../core/clock.js'
import { deferred } from './data-locks.js'

/** Maximum time that a query waits for earlier queries. */
const MAX_WAIT_MS = 2000
/** Maximum number of waiting queries of one account. */
const MAX_WAITING = 200

/** A query was not run because the databases of its account are busy with others. */
export class DatabasesBusy extends Error {
  override readonly name = 'DatabasesBusy'
}

/** A query was stopped because it exceeded a limit. None of its changes are stored. */
export class QueryStopped extends Error {
  override readonly name = 'QueryStopped'
}

const BUSY = 'the databases of the account are busy with another query; this one was not run, try again later'

/**
 * Runs the queries of one account one after the other. All databases of an account share a process with one thread, so
 * a sent query waits for earlier queries, and cannot be cancelled.
 */
export class QueryLine {
  readonly #clock: Clock
  readonly #waiting = new Set<() => void>()
  #isBusy = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs `work` after the queries before it. Rejects with {@link DatabasesBusy} if that takes too long. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy) await this.#turn()
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  async #turn(): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING) throw new DatabasesBusy(BUSY)
    const end = new AbortController()
    const isOver = this.#clock.sleep(MAX_WAIT_MS, end.signal).then(
      () => true,
      () => false,
    )
    const { promise, resolve: begin } = deferred()
    this.#waiting.add(begin)
    const isLate = await Promise.race([isOver, promise.then(() => false)])
    // A turn that arrived at the same moment belongs to this query.
    if (isLate && this.#waiting.delete(begin)) throw new DatabasesBusy(BUSY)
    end.abort()
  }

  #next(): void {
    const [next] = this.#waiting
    this.#isBusy = next !== undefined
    if (!next) return
    this.#waiting.delete(next)
    next()
  }
}

/** Throws {@link DatabasesBusy} if the process of the databases does not respond now. */
export function assertResponds(process: { readonly isStalled: boolean }): void {
  if (process.isStalled) throw new DatabasesBusy(BUSY)
}
