import { StoreUnavailable } from '../../core/store.js'
import { committed, conflict, isNothing, type Commit, type Decide, type Prepared, type Row } from './record.js'
import type { MemoryIndex } from './memory-index.js'

interface Waiting {
  readonly decide: Decide
  readonly settle: (outcome: Commit | { error: unknown }) => void
}

// Enough for any burst of API calls. Beyond it the disk is so far behind that waiting longer does not help.
const MAX_WAITING = 10_000
const MAX_GROUP_SIZE = 1000

/**
 * The only writer of a store whose records no other process changes. Batches that arrive while the disk is busy are
 * persisted together, as one group. Each is decided in order, on the result of the batches before it.
 */
export class GroupWriter {
  readonly #resident: MemoryIndex
  readonly #persist: (commits: readonly Commit[]) => Promise<void>
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #version: number

  constructor(resident: MemoryIndex, version: number, persist: (commits: readonly Commit[]) => Promise<void>) {
    this.#resident = resident
    this.#version = version
    this.#persist = persist
  }

  /** Persists a batch. Resolves with its result after it is durable and visible. */
  async write(decide: Decide): Promise<Commit> {
    if (this.#waiting.length >= MAX_WAITING)
      throw new StoreUnavailable(`the store is ${MAX_WAITING} writes behind; try again later`)
    return await new Promise((resolve, reject) => {
      this.#waiting.push({
        decide,
        settle: (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome)),
      })
      this.#running ??= this.#run()
    })
  }

  /** Resolves after all pending writes are finished. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #run(): Promise<void> {
    // More batches for the first group may arrive in the rest of this turn of the event loop.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) await this.#writeGroup(this.#waiting.splice(0, MAX_GROUP_SIZE))
    this.#running = undefined
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const pending = new Map<string, Row | undefined>()
    const row = (name: string) => (pending.has(name) ? pending.get(name) : this.#resident.row(name))
    const commits: Commit[] = []
    const outcomes = group.map(({ decide }) => {
      try {
        const decided = decide(row)
        checkVersions(decided.writes, pending, this.#resident)
        const last = this.#version + commits.length
        if (isNothing(decided)) return committed(decided, last)
        const commit = committed(decided, last + 1)
        for (const change of commit.changes) pending.set(change.name, change.row)
        commits.push(commit)
        return commit
      } catch (error) {
        return { error }
      }
    })

    try {
      if (commits.length > 0) await this.#persist(commits)
    } catch (error) {
      // Includes rejected batches, because they may have been decided on a state that was never stored.
      for (const { settle } of group) settle({ error })
      return
    }
    this.#version += commits.length
    for (const { changes } of commits) this.#resident.apply(changes)
    for (const [index, { settle }] of group.entries()) settle(outcomes[index]!)
  }
}

function checkVersions(
  writes: readonly Prepared[],
  pending: ReadonlyMap<string, Row | undefined>,
  resident: MemoryIndex,
): void {
  for (const { name, at, ifVersion } of writes) {
    if (ifVersion === undefined) continue
    const found = (pending.has(name) ? pending.get(name) : resident.at(at))?.version ?? 0
    if (ifVersion !== found) throw conflict(name, found, ifVersion)
  }
}
