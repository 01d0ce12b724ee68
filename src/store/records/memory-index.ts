import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Scope } from '../../core/scope.js'
import type { Change, Kind, Stored } from '../../core/store.js'
import { named, type Named, type Row, type RowChange } from './record.js'

/** All records in memory. Every store reads from it. Changed only by durable batches. */
export class MemoryIndex {
  readonly #kinds = new Map<string, OfKind>()
  readonly #listeners = new Set<(changes: readonly Change[]) => void>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  row(name: string): Row | undefined {
    return this.at(named(name))
  }

  at({ kind, scope, id }: Named): Row | undefined {
    return this.#kinds.get(kind)?.of(scope)?.rows.get(id)
  }

  get size(): number {
    let size = 0
    for (const ofKind of this.#kinds.values()) size += ofKind.size
    return size
  }

  get<T>(kind: Kind<T>, scope: Scope, id: string): Stored<T> | undefined {
    return this.#kinds.get(kind.name)?.of(scope)?.rows.get(id)?.stored as Stored<T> | undefined
  }

  list<T>(kind: Kind<T>, scope?: Scope): readonly Stored<T>[] {
    const ofKind = this.#kinds.get(kind.name)
    const found = scope ? ofKind?.of(scope)?.list() : ofKind?.list()
    return (found ?? []) as readonly Stored<T>[]
  }

  count(kind: Kind<unknown>, scope?: Scope): number {
    const ofKind = this.#kinds.get(kind.name)
    return (scope ? ofKind?.of(scope)?.rows.size : ofKind?.size) ?? 0
  }

  *records(): Generator<Stored<unknown>> {
    for (const row of this.rows()) yield row.stored
  }

  watch(listener: (changes: readonly Change[]) => void): () => void {
    const own = (changes: readonly Change[]) => listener(changes)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  /** Stores a loaded row without notifying watchers. */
  load(row: Row): void {
    this.#put(row)
  }

  /** Makes one durable batch visible, then notifies the watchers. */
  apply(changes: readonly RowChange[]): void {
    const seen: Change[] = []
    for (const { at, row } of changes) {
      const old = row ? undefined : this.at(at)
      if (row) this.#put(row)
      else if (old) this.#remove(old)
      if (this.#listeners.size === 0) continue
      if (row) seen.push(row.change)
      else if (old) seen.push(old.removed)
    }
    if (seen.length > 0) this.#tell(Object.freeze(seen))
  }

  /** Replaces all rows. The watchers receive the differences as one batch. */
  replace(rows: ReadonlyMap<string, Row>): void {
    const changes: RowChange[] = []
    for (const old of this.rows()) {
      const { name } = old
      if (!rows.has(name)) changes.push({ name, at: old, row: undefined })
    }
    for (const [name, row] of rows) {
      const old = this.at(row)
      if (old?.version !== row.version || old.json !== row.json) changes.push({ name, at: row, row })
    }
    this.apply(changes)
  }

  #tell(changes: readonly Change[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(changes)
      } catch (error) {
        this.#log.error({ event: 'store_watcher_failed', error: messageOf(error) })
      }
    }
  }

  *rows(): Generator<Row> {
    for (const ofKind of this.#kinds.values()) for (const { rows } of ofKind.scopes()) yield* rows.values()
  }

  #put(row: Row): void {
    const { kind, scope, id } = row
    let ofKind = this.#kinds.get(kind)
    if (!ofKind) this.#kinds.set(kind, (ofKind = new OfKind()))
    ofKind.put(scope, id, row)
  }

  #remove(row: Row): void {
    const { kind, scope, id } = row
    this.#kinds.get(kind)?.remove(scope, id)
  }
}

class OfKind {
  // A map per type, because a joined key would be hashed on each use.
  readonly #scopes: Readonly<Record<Scope['type'], Map<string, OfScope>>> = {
    account: new Map(),
    daemon: new Map(),
    zone: new Map(),
  }
  size = 0
  #listed: readonly Stored<unknown>[] | undefined

  of({ type, id }: Scope): OfScope | undefined {
    return this.#scopes[type].get(id)
  }

  *scopes(): Generator<OfScope> {
    for (const scopes of Object.values(this.#scopes)) yield* scopes.values()
  }

  put(scope: Scope, id: string, row: Row): void {
    let ofScope = this.of(scope)
    if (!ofScope) this.#scopes[scope.type].set(scope.id, (ofScope = new OfScope()))
    this.size += ofScope.put(id, row) ? 1 : 0
    this.#listed = undefined
  }

  remove(scope: Scope, id: string): void {
    const ofScope = this.of(scope)
    if (!ofScope?.remove(id)) return
    this.size -= 1
    if (ofScope.rows.size === 0) this.#scopes[scope.type].delete(scope.id)
    this.#listed = undefined
  }

  list(): readonly Stored<unknown>[] {
    this.#listed ??= Object.freeze([...this.scopes()].flatMap((scope) => scope.list()).sort(byId))
    return this.#listed
  }
}

/** Maximum number of removed ids that wait for the next list, in addition to the number of records. */
const MAX_STALE = 1024

/**
 * Records of one scope. Ids stay sorted after the first list, so that alternating writes and lists sort only the new
 * ids. These are merged by the next list. In a batch of thousands, moving all later ids for each new id would take too
 * long.
 */
class OfScope {
  readonly rows = new Map<string, Row>()
  /** Sorted. Removed ids may still be included. */
  #ids: string[] | undefined
  /** Ids that are not in `#ids`, or were removed in between. */
  #added: string[] = []
  #hasRemoved = false
  #listed: readonly Stored<unknown>[] | undefined

  /** Returns whether the id is new. */
  put(id: string, row: Row): boolean {
    const isNew = !this.rows.has(id)
    this.rows.set(id, row)
    if (isNew && this.#ids && this.#added.push(id) > this.rows.size + MAX_STALE) {
      // Mostly ids that were removed again.
      this.#ids = undefined
      this.#added = []
    }
    this.#listed = undefined
    return isNew
  }

  remove(id: string): boolean {
    if (!this.rows.delete(id)) return false
    this.#hasRemoved = true
    this.#listed = undefined
    return true
  }

  list(): readonly Stored<unknown>[] {
    this.#listed ??= Object.freeze(this.#sorted().map((id) => this.rows.get(id)!.stored))
    return this.#listed
  }

  #sorted(): readonly string[] {
    if (this.#ids === undefined) this.#ids = [...this.rows.keys()].sort()
    else if (this.#added.length > 0 || this.#hasRemoved)
      this.#ids = merged(this.#ids, this.#added.sort()).filter(
        (id, at, all) => id !== all[at - 1] && (!this.#hasRemoved || this.rows.has(id)),
      )
    this.#added = []
    this.#hasRemoved = false
    return this.#ids
  }
}

const byId = (a: Stored<unknown>, b: Stored<unknown>): number =>
  compare(a.id, b.id) || compare(a.scope.type, b.scope.type) || compare(a.scope.id, b.scope.id)

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Returns one sorted list of two. */
function merged(first: readonly string[], second: readonly string[]): string[] {
  const all: string[] = []
  let at = 0
  for (const id of second) {
    while (at < first.length && first[at]! <= id) all.push(first[at++]!)
    all.push(id)
  }
  while (at < first.length) all.push(first[at++]!)
  return all
}
