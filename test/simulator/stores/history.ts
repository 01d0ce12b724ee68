import type { Change, Store } from '../../../src/core/store.js'
import { recordName } from '../../../src/store/records/record.js'
import { Finding } from '../world.js'

/** Kinds of records: a number that grows by one, two records that are written together, and one that is removed. */
export const KINDS = {
  counter: { name: 'counter' },
  left: { name: 'left' },
  right: { name: 'right' },
  thing: { name: 'thing' },
}

/** Value of each record: the operation that wrote it, and the number of a counter. */
export interface Written {
  readonly op: number
  readonly n?: number
}

export interface Op {
  readonly id: number
  readonly names: readonly string[]
  readonly removes: boolean
  /** `refused`: surely not made. `unclear`: made or not, or not known yet. */
  state: 'unclear' | 'confirmed' | 'refused'
}

/** What clients know of a store, over all lives and machines. Each method throws a {@link Finding} about a broken promise. */
export class StoreHistory {
  readonly #ops: Op[] = []
  /** Operation of each version, and version of each operation. */
  readonly #versions = new Map<number, number>()
  readonly #made = new Map<number, number>()
  /** Operations that the store has lost. A machine may show them until it has noticed. */
  readonly #lost = new Set<number>()
  /** Operation that set a counter to a number. */
  readonly #numbers = new Map<string, number>()
  /** Version of each record, which is confirmed. */
  readonly #floors = new Map<string, number>()

  begin(names: readonly string[], removes = false): Op {
    const op: Op = { id: this.#ops.length, names, removes, state: 'unclear' }
    this.#ops.push(op)
    return op
  }

  get confirmed(): number {
    return this.confirmedOps().size
  }

  confirm(op: Op, version: number): void {
    op.state = 'confirmed'
    this.#at(op.id, version)
    for (const name of op.names) this.#floors.set(name, Math.max(version, this.#floors.get(name) ?? 0))
  }

  /** The store has the operation that no client may see again. */
  refuse(op: Op): void {
    op.state = 'refused'
    if (this.#made.has(op.id)) throw new Finding(`operation ${op.id} is rejected, and was made`)
  }

  /** Somebody sees a record. */
  seen(name: string, version: number, { op: id, n }: Written): void {
    const op = this.#ops[id]
    if (op === undefined) throw new Finding(`${name} has a value that nobody wrote`)
    if (this.#lost.has(id)) return
    if (op.state === 'refused') throw new Finding(`${name} has the value of operation ${id}, which was rejected`)
    this.#at(id, version)
    if (n === undefined) return
    const key = `${name} ${n}`
    const before = this.#numbers.get(key) ?? id
    if (before !== id) throw new Finding(`${name} became ${n} by ${before} and by ${id}: one is lost`)
    this.#numbers.set(key, id)
  }

  /** A store that has all that was confirmed before `floors`. */
  complete(store: Store, floors: ReadonlyMap<string, number>): void {
    const found = new Map<string, number>()
    for (const { kind, scope, id, version } of store.records()) found.set(recordName(kind, scope, id), version)
    for (const [name, floor] of floors) {
      const version = found.get(name)
      if (
        version === undefined &&
        this.#ops.some((op) => op.removes && op.names.includes(name) && op.state !== 'refused')
      )
        continue
      if (version === undefined || version < floor)
        throw new Finding(`${name} has version ${version ?? 'none'}, and ${floor} is confirmed`)
    }
  }

  /** Versions of the records that are confirmed now. */
  floors(): ReadonlyMap<string, number> {
    return new Map(this.#floors)
  }

  /** Operations that are confirmed now. */
  confirmedOps(): ReadonlySet<number> {
    return new Set(this.#ops.flatMap(({ id, state }) => (state === 'confirmed' ? [id] : [])))
  }

  /** The audit record, read after `confirmed` were, has each of these once, and no operation twice. */
  audited(ids: readonly number[], confirmed: ReadonlySet<number>): void {
    const found = new Set(ids)
    if (found.size < ids.length) throw new Finding('the audit record has an operation twice')
    for (const { id, state } of this.#ops) {
      if (state === 'confirmed' && confirmed.has(id) && !found.has(id))
        throw new Finding(`the audit record lacks operation ${id}`)
      if (state === 'refused' && found.has(id)) throw new Finding(`the audit record has the rejected operation ${id}`)
    }
  }

  /** The store lost all after a version. With `confirmed` its settings allow that for confirmed operations. */
  forget(kept: number, { confirmed }: { confirmed: boolean }): void {
    for (const [version, id] of this.#versions) {
      if (version <= kept) continue
      this.#versions.delete(version)
      this.#made.delete(id)
      this.#lost.add(id)
      const op = this.#ops[id]!
      if (op.state !== 'confirmed') continue
      if (!confirmed) throw new Finding(`operation ${id} is confirmed, and lost`)
      op.state = 'unclear'
    }
    for (const [key, id] of this.#numbers) if (!this.#made.has(id)) this.#numbers.delete(key)
    for (const [name, floor] of this.#floors) if (floor > kept) this.#floors.delete(name)
  }

  #at(id: number, version: number): void {
    const other = this.#versions.get(version) ?? id
    if (other !== id) throw new Finding(`version ${version} is of operations ${other} and ${id}`)
    const before = this.#made.get(id) ?? version
    if (before !== version) throw new Finding(`operation ${id} was made as ${before} and as ${version}`)
    this.#versions.set(version, id)
    this.#made.set(id, version)
  }
}

/** The records of a store as a watcher knows them. */
export class View {
  readonly #history: StoreHistory
  readonly #store: Store
  readonly #records = new Map<string, number>()
  /** Versions may begin again. */
  resets = false

  constructor(history: StoreHistory, store: Store) {
    this.#history = history
    this.#store = store
    for (const record of store.records()) this.#note(record)
    this.#paired()
  }

  /** The watcher gets a batch. */
  changed(changes: readonly Change[]): void {
    for (const change of changes) {
      const name = recordName(change.kind, change.scope, change.id)
      const before = this.#records.get(name) ?? 0
      if (change.value === undefined) this.#records.delete(name)
      else if (change.version <= before && !this.resets)
        throw new Finding(`a watcher gets version ${change.version} of ${name} after ${before}`)
      else this.#note(change)
    }
    this.#paired()
    this.compare()
  }

  /** The watcher knows what reads return. */
  compare(): void {
    let count = 0
    for (const { kind, scope, id, version } of this.#store.records()) {
      if (!(kind in KINDS)) continue
      count++
      const name = recordName(kind, scope, id)
      const known = this.#records.get(name)
      if (known !== version) throw new Finding(`${name} has version ${version}, and a watcher knows ${known ?? 'none'}`)
    }
    if (count !== this.#records.size) throw new Finding('a watcher knows records that were removed')
  }

  #note({ kind, scope, id, version, value }: Change): void {
    if (!(kind in KINDS)) return
    const name = recordName(kind, scope, id)
    this.#history.seen(name, version, value as Written)
    this.#records.set(name, version)
  }

  /** A batch is visible as a whole. */
  #paired(): void {
    for (const { scope, id, version } of this.#store.list(KINDS.left)) {
      const other = this.#store.get(KINDS.right, scope, id)
      if (other?.version !== version) throw new Finding(`a batch is visible in part: version ${version} of ${id}`)
    }
  }
}
