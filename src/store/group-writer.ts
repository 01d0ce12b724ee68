import { StoreUnavailable, type AuditEntry } from '../core/store.js'
import { conflict, Row, type Decided, type Prepared, type RowChange } from './record.js'
import type { Resident } from './resident.js'

/** What one batch does to the disk. */
export interface Commit {
  /** Number of the batch, and version of all that it writes; when it does nothing, that of the last one. */
  readonly version: number
  readonly changes: readonly RowChange[]
  readonly audit: readonly AuditEntry[]
}

/** What a batch wants, said when its turn comes: `row` shows the state that all batches before it leave behind. */
type Decide = (row: (name: string) => Row | undefined) => Decided

interface Waiting {
  readonly decide: Decide
  readonly settle: (outcome: Commit | { error: unknown }) => void
}

// Enough for any burst of API calls; beyond it the disk is so far behind that more waiting helps nobody.
const MOST_WAITING = 10_000
const MOST_IN_GROUP = 1000

/**
 * The one writer of a store that has its records to itself. Batches that are asked for while the disk is busy are
 * persisted together, as one group; each is still decided in its turn, against what the batches before it leave behind.
 */
export class GroupWriter {
  readonly #resident: Resident
  readonly #persist: (commits: readonly Commit[]) => Promise<void>
  #waiting: Waiting[] = []
  #running: Promise<void> | undefined
  #version: number
  #closed = false

  constructor(resident: Resident, version: number, persist: (commits: readonly Commit[]) => Promise<void>) {
    this.#resident = resident
    this.#version = version
    this.#persist = persist
  }

  /** Resolves with what was done, once it is durable and visible. */
  async write(decide: Decide): Promise<Commit> {
    if (this.#closed) throw new StoreUnavailable('the store is closed')
    if (this.#waiting.length >= MOST_WAITING)
      throw new StoreUnavailable(`the store is ${MOST_WAITING} writes behind; try again later`)
    return await new Promise((resolve, reject) => {
      this.#waiting.push({
        decide,
        settle: (outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome)),
      })
      this.#running ??= this.#run()
    })
  }

  get closed(): boolean {
    return this.#closed
  }

  /** Refuses what is asked from now on; resolves when all that was asked before has been answered. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #run(): Promise<void> {
    // The rest of this turn of the event loop may bring more for the first group.
    await new Promise(setImmediate)
    while (this.#waiting.length > 0) await this.#writeGroup(this.#waiting.splice(0, MOST_IN_GROUP))
    this.#running = undefined
  }

  async #writeGroup(group: readonly Waiting[]): Promise<void> {
    const pending = new Map<string, Row | undefined>()
    const row = (name: string) => (pending.has(name) ? pending.get(name) : this.#resident.row(name))
    const commits: Commit[] = []
    const outcomes = group.map(({ decide }) => {
      try {
        const { writes, audit } = decide(row)
        checkVersions(writes, row)
        const last = this.#version + commits.length
        if (writes.length + audit.length === 0) return { version: last, changes: [], audit }
        const commit = { version: last + 1, changes: writes.map((write) => changeOf(write, last + 1)), audit }
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
      // Refusals too: they may have come from a state that now never was.
      for (const { settle } of group) settle({ error })
      return
    }
    this.#version += commits.length
    for (const { changes } of commits) this.#resident.apply(changes)
    for (const [index, { settle }] of group.entries()) settle(outcomes[index]!)
  }
}

const changeOf = ({ name, json }: Prepared, version: number): RowChange => ({
  name,
  row: json === undefined ? undefined : new Row(name, version, json),
})

function checkVersions(writes: readonly Prepared[], row: (name: string) => Row | undefined): void {
  for (const { name, ifVersion } of writes) {
    const found = row(name)?.version ?? 0
    if (ifVersion !== undefined && ifVersion !== found) throw conflict(name, found, ifVersion)
  }
}
