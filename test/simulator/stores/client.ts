import type { Clock } from '../../../src/core/clock.js'
import { account } from '../../../src/core/scope.js'
import { StoreUnavailable, VersionConflict, type AuditEntry, type Store } from '../../../src/core/store.js'
import { recordName } from '../../../src/store/records/record.js'
import type { World } from '../world.js'
import { KINDS, type Op, type StoreHistory, type Written } from './history.js'

const SCOPE = account('a'.repeat(32))
const IDS = ['one', 'two'] as const
const ACTION = /^op (\d+)$/

/** A client of a store on one machine: writes, reads and notes what it learns. */
export class StoreClient {
  readonly #world: World
  readonly #history: StoreHistory
  readonly #store: Store
  readonly #clock: Clock

  constructor(world: World, history: StoreHistory, store: Store, clock: Clock) {
    this.#world = world
    this.#history = history
    this.#store = store
    this.#clock = clock
  }

  /** One operation of any kind. */
  async act(): Promise<void> {
    const { work } = this.#world
    const id = work.pick(IDS)
    const kinds = [this.#increase, this.#increase, this.#pair, this.#compare, this.#replace, this.#remove, this.#read]
    await work.pick(kinds).call(this, id)
    if (work.chance(0.3)) await this.#clock.sleep(work.below(3000))
  }

  /** Reads the audit record and checks it. */
  async audit(): Promise<void> {
    const confirmed = this.#history.confirmedOps()
    const ids: number[] = []
    for await (const { entry } of this.#store.audit()) ids.push(Number(ACTION.exec(entry.action)![1]))
    this.#world.check(() => this.#history.audited(ids, confirmed))
  }

  /** Reads as a client that must see all that was confirmed before. */
  async #read(): Promise<void> {
    const floors = this.#history.floors()
    try {
      await this.#store.caughtUp()
    } catch (error) {
      if (error instanceof StoreUnavailable) return
      throw error
    }
    this.#world.check(() => this.#history.complete(this.#store, floors))
  }

  async #increase(id: string): Promise<void> {
    const op = this.#history.begin([recordName(KINDS.counter.name, SCOPE, id)])
    let entry: AuditEntry
    await this.#settle(op, async () => {
      const stored = await this.#store.change<Written>(
        KINDS.counter,
        SCOPE,
        id,
        (old) => ({ op: op.id, n: (old?.n ?? 0) + 1 }),
        () => (entry = this.#entry(op)),
      )
      if (stored!.value.op !== op.id) throw new Error(`the store returns another value than ${entry.action} wrote`)
      this.#history.seen(op.names[0]!, stored!.version, stored!.value)
      return stored!.version
    })
  }

  async #pair(id: string): Promise<void> {
    const op = this.#history.begin([KINDS.left, KINDS.right].map(({ name }) => recordName(name, SCOPE, id)))
    const value: Written = { op: op.id }
    await this.#settle(op, async () => {
      const of = { scope: SCOPE, id, value }
      return await this.#store.batch(
        [
          { kind: KINDS.left, ...of },
          { kind: KINDS.right, ...of },
        ],
        [this.#entry(op)],
      )
    })
  }

  /** Writes what it has read, if nobody wrote meanwhile. */
  async #compare(id: string): Promise<void> {
    const found = this.#store.get<Written>(KINDS.counter, SCOPE, id)
    const op = this.#history.begin([recordName(KINDS.counter.name, SCOPE, id)])
    if (this.#world.work.chance(0.3)) await this.#clock.sleep(this.#world.work.below(500))
    const value: Written = { op: op.id, n: (found?.value.n ?? 0) + 1 }
    const write = { kind: KINDS.counter, scope: SCOPE, id, value, ifVersion: found?.version ?? 0 }
    await this.#settle(op, async () => await this.#store.batch([write], [this.#entry(op)]))
  }

  async #replace(id: string): Promise<void> {
    const op = this.#history.begin([recordName(KINDS.thing.name, SCOPE, id)])
    const write = { kind: KINDS.thing, scope: SCOPE, id, value: { op: op.id } }
    await this.#settle(op, async () => await this.#store.batch([write], [this.#entry(op)]))
  }

  async #remove(id: string): Promise<void> {
    const op = this.#history.begin([recordName(KINDS.thing.name, SCOPE, id)], true)
    const write = { kind: KINDS.thing, scope: SCOPE, id, value: undefined }
    await this.#settle(op, async () => await this.#store.batch([write], [this.#entry(op)]))
  }

  /** Notes the result. What is confirmed is visible here at once. */
  async #settle(op: Op, write: () => Promise<number>): Promise<void> {
    const { scheduler } = this.#world
    try {
      const version = await write()
      scheduler.say(`operation ${op.id} is confirmed as ${version}`)
      this.#history.confirm(op, version)
      if (!op.removes) this.#history.complete(this.#store, new Map(op.names.map((name) => [name, version])))
    } catch (error) {
      scheduler.say(`operation ${op.id} fails: ${String(error)}`)
      if (error instanceof VersionConflict) this.#history.refuse(op)
      else if (error instanceof StoreUnavailable) await this.#clock.sleep(1000)
      else throw error
    }
  }

  #entry(op: Op): AuditEntry {
    return {
      at: new Date(this.#clock.now()).toISOString(),
      actor: { type: 'user', id: 'u' },
      action: `op ${op.id}`,
      resource: { kind: 'any', scope: SCOPE, id: 'any' },
      requestId: String(op.id),
      before: null,
      after: null,
    }
  }
}
