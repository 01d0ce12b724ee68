import PQueue from 'p-queue'
import { VersionConflict } from '../src/core/store.js'
import { ApiError, type ErrorKind } from './errors.js'

// Beyond this many the last one would wait for seconds.
const MOST_WAITING = 1000
const TRIES = 5

/** Writes that take turns: those with one key run one after another, and again where another machine was faster. */
export class Turns {
  readonly #busy: ErrorKind
  readonly #queues = new Map<string, PQueue>()

  /** `busy`: how a write is refused that would wait for too long. */
  constructor(busy: ErrorKind) {
    this.#busy = busy
  }

  /** Runs the write when its turn comes; where it rejects with VersionConflict it runs again, five times at most. */
  async take<T>(key: string, write: () => Promise<T>): Promise<T> {
    const queue = this.#queueOf(key)
    if (queue.size >= MOST_WAITING) throw new ApiError(this.#busy, undefined, { headers: { 'retry-after': '1' } })
    return await queue.add(async () => await again(write))
  }

  #queueOf(key: string): PQueue {
    const known = this.#queues.get(key)
    if (known) return known
    const queue = new PQueue({ concurrency: 1 })
    this.#queues.set(key, queue)
    return queue
  }
}

async function again<T>(write: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await write()
    } catch (error) {
      if (!(error instanceof VersionConflict) || tried === TRIES) throw error
    }
  }
}
