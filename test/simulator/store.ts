import { silentLog } from '../../src/core/log.js'
import { StoreUnavailable, VersionConflict, type Store } from '../../src/core/store.js'
import { createStore, type Backend } from '../../src/store/records/create-store.js'
import { MemoryIndex } from '../../src/store/records/memory-index.js'
import { committed, conflict, type Commit, type Decided, type Row } from '../../src/store/records/record.js'
import type { Life } from './scheduler.js'
import type { World } from './world.js'

const MAX_AWAY_MS = 40_000
const MAX_DELAY_MS = 300
const TIMEOUT_MS = 3000
const MAX_TRIES = 20

/** One life with its copy of the records. */
interface Machine {
  readonly life: Life
  readonly resident: MemoryIndex
  /** Commits that have not reached it. */
  coming: Commit[]
  awayUntil: number
}

/** A store that several machines share, as Redis is: batches are atomic and in one order, copies follow later. */
export class SimulatedStore {
  readonly #world: World
  readonly #rows = new Map<string, Row>()
  #machines: Machine[] = []
  #version = 0

  constructor(world: World) {
    this.#world = world
  }

  /** Returns a record as the store has it. */
  row(name: string): Row | undefined {
    return this.#rows.get(name)
  }

  /** Opens the store for a life, with all records. */
  open(life: Life): Store {
    const resident = new MemoryIndex(silentLog)
    for (const row of this.#rows.values()) resident.load(row)
    const machine: Machine = { life, resident, coming: [], awayUntil: 0 }
    this.#machines = [...this.#machines.filter(({ life: other }) => other.alive), machine]
    return createStore({
      resident,
      write: async (decide, only) => await this.#write(machine, decide, only),
      caughtUp: async () => await this.#catchUp(machine),
      audit: async function* () {},
      cursors: /^$/,
      unavailable: () => (this.#isAway(machine) ? 'simulated: the store is away' : undefined),
      close: async () => {},
    })
  }

  async #write(machine: Machine, decide: Parameters<Backend['write']>[0], only: string | undefined): Promise<Commit> {
    for (let tries = 1; ; tries++) {
      const decided = decide((name) => machine.resident.row(name))
      try {
        return await this.#send(machine, decided)
      } catch (error) {
        if (only === undefined || tries === MAX_TRIES || !(error instanceof VersionConflict)) throw error
      }
    }
  }

  async #send(machine: Machine, decided: Decided): Promise<Commit> {
    const { scheduler, faults } = this.#world
    const { life } = machine
    const away = () => new StoreUnavailable('simulated: the store is away')
    if (faults.has('away')) machine.awayUntil = scheduler.time + 1 + faults.random.below(MAX_AWAY_MS)
    if (this.#isAway(machine)) return await scheduler.call(life, 'no store', () => Promise.reject(away()), TIMEOUT_MS)
    const commit = await scheduler
      .call(life, 'commit', () => this.#commit(decided), this.#delay())
      .catch((error: unknown) => {
        // Who reads again after a conflict sees the other change.
        this.#follow(machine, this.#version)
        throw error
      })
    if (faults.has('unheard')) return await scheduler.call(life, 'no answer', () => Promise.reject(away()), TIMEOUT_MS)
    return await scheduler.call(
      life,
      `committed ${commit.version}`,
      () => {
        this.#follow(machine, commit.version)
        return commit
      },
      this.#delay(),
    )
  }

  async #catchUp(machine: Machine): Promise<void> {
    const { scheduler } = this.#world
    const isAway = this.#isAway(machine)
    await scheduler.call(machine.life, 'catch up', () => {}, isAway ? TIMEOUT_MS : this.#delay())
    if (isAway || this.#isAway(machine)) throw new StoreUnavailable('simulated: the store is away')
    this.#follow(machine, this.#version)
  }

  #delay(): number {
    return this.#world.faults.random.below(MAX_DELAY_MS)
  }

  #isAway({ awayUntil }: Machine): boolean {
    return this.#world.scheduler.time < awayUntil
  }

  #commit(decided: Decided): Commit {
    for (const { name, ifVersion } of decided.writes) {
      const found = this.#rows.get(name)?.version ?? 0
      if (ifVersion !== undefined && ifVersion !== found) throw conflict(name, found, ifVersion)
    }
    const commit = committed(decided, decided.writes.length > 0 ? ++this.#version : this.#version)
    for (const { name, row } of commit.changes) {
      if (row === undefined) this.#rows.delete(name)
      else this.#rows.set(name, row)
    }
    for (const machine of this.#machines) {
      machine.coming.push(commit)
      this.#announce(machine, commit.version)
    }
    return commit
  }

  /** Brings a commit to a machine, after its absence if it is away. */
  #announce(machine: Machine, version: number): void {
    const { scheduler } = this.#world
    const delay = Math.max(0, machine.awayUntil - scheduler.time) + this.#delay()
    scheduler.later(machine.life, `follow ${version}`, delay, () => {
      if (this.#isAway(machine)) this.#announce(machine, version)
      else this.#follow(machine, version)
    })
  }

  #follow(machine: Machine, version: number): void {
    const now = machine.coming.filter((commit) => commit.version <= version)
    machine.coming = machine.coming.filter((commit) => commit.version > version)
    for (const { changes } of now) machine.resident.apply(changes)
  }
}
