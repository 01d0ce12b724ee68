import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import { VersionConflict } from '../../src/core/store.js'
import { ApiError, type ErrorKind } from '../http/errors.js'

const MAX_ATTEMPTS = 5
// With more than this, the last one would wait for seconds.
const MAX_QUEUED = 1000

/**
 * Runs reads and writes that belong together. Edits of one key run sequentially on this machine. An edit is repeated if
 * another machine wrote in between.
 */
export class KeyedEdits {
  readonly #mutex = new KeyedMutex()
  readonly #busy: ErrorKind | undefined
  /** Number of edits running or queued, by key. */
  readonly #queued = new Map<string, number>()

  /** `busy`: the error if too many edits of a key are queued. Without it the queue is not limited. */
  constructor(busy?: ErrorKind) {
    this.#busy = busy
  }

  async run<T>(key: string, edit: () => Promise<T>): Promise<T> {
    const queued = this.#queued.get(key) ?? 0
    if (this.#busy !== undefined && queued > MAX_QUEUED)
      throw new ApiError(this.#busy, undefined, { headers: { 'retry-after': '1' } })
    this.#queued.set(key, queued + 1)
    try {
      return await this.#mutex.run(key, async () => await repeated(edit))
    } finally {
      const left = (this.#queued.get(key) ?? 1) - 1
      // Clients choose the keys: a key is removed with its last edit.
      if (left > 0) this.#queued.set(key, left)
      else this.#queued.delete(key)
    }
  }
}

async function repeated<T>(edit: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await edit()
    } catch (error) {
      if (!(error instanceof VersionConflict) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}
