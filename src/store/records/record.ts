import { frozenJson, isFrozenJson } from '../../core/json/frozen-json.js'
import type { Scope } from '../../core/scope.js'
import { VersionConflict, type AuditEntry, type Stored, type Write } from '../../core/store.js'

/**
 * Returns the name of a record in every store. This is a JSON array, so that any text in an id is unambiguous and the
 * name can be parsed.
 */
export const recordName = (kind: string, scope: Scope, id: string): string =>
  JSON.stringify([kind, scope.type, scope.id, id])

/** A stored record. Its JSON is parsed on first use, so that a start parses only the records in use. */
export class Row implements Named {
  readonly kind: string
  readonly scope: Scope
  readonly id: string
  readonly version: number
  /** Checksum of its bytes, if the backend needs one. This is a signed 32-bit integer, which takes no extra memory. */
  sum = 0
  #json: Buffer | string | undefined
  #stored: Stored<unknown> | undefined

  /** `value` is the parsed JSON, if it is known and frozen. */
  constructor({ kind, scope, id }: Named, version: number, json: Buffer | string, value?: unknown) {
    this.kind = kind
    this.scope = scope
    this.id = id
    this.version = version
    if (value === undefined) this.#json = json
    else this.#stored = this.#with(value)
  }

  /** Created on use. A stored name would take as much memory as many a record. */
  get name(): string {
    return recordName(this.kind, this.scope, this.id)
  }

  get stored(): Stored<unknown> {
    if (this.#stored) return this.#stored
    const value = JSON.parse(String(this.#json)) as { id?: unknown } | null
    // Most values contain their id too. One string is enough for both.
    if (value?.id === this.id) value.id = this.id
    this.#stored = this.#with(frozenJson(value))
    this.#json = undefined
    return this.#stored
  }

  /** The change for watchers. Most records have no watcher, so their JSON is parsed at the first use. */
  get change(): Stored<unknown> {
    if (this.#stored) return this.#stored
    const { kind, scope, id, version } = this
    const valueOf = () => this.stored.value
    return Object.freeze({
      kind,
      scope,
      id,
      version,
      get value() {
        return valueOf()
      },
    })
  }

  /** Value that watchers receive after its removal. */
  get removed(): Stored<undefined> {
    return this.#with(undefined)
  }

  // A literal, because objects created with `...` have a hidden class each, which takes more memory than the object.
  #with<T>(value: T): Stored<T> {
    const { kind, scope, id, version } = this
    return Object.freeze({ kind, scope, id, version, value })
  }

  get json(): string {
    return this.#json === undefined ? JSON.stringify(this.stored.value) : String(this.#json)
  }
}

/** A change of one record, with its new row, or undefined if it was removed. */
export interface RowChange {
  readonly name: string
  readonly at: Named
  readonly row: Row | undefined
  /** JSON of the row, if it was just serialized. */
  readonly json?: string | undefined
}

/** A write whose value is serialized, so that later changes by its caller do not affect the stored data. */
export interface Prepared {
  readonly name: string
  readonly at: Named
  readonly json: string | undefined
  /** The value itself if nobody can change it. Otherwise undefined, and the row parses the JSON on use. */
  readonly value: unknown
  readonly ifVersion: number | undefined
}

/** Serializes writes. Throws TypeError for a value that JSON cannot represent and for a duplicate record. */
export function prepared(writes: readonly Write[]): Prepared[] {
  const names = new Set<string>()
  // Thousands of writes of one batch have the same scope.
  let last: Pick<Write, 'kind' | 'scope'> | undefined
  let place: Scope | undefined
  let prefix = ''
  return writes.map(({ kind, scope, id, value, json: known, ifVersion }) => {
    if (!place || last?.kind !== kind || last.scope !== scope) {
      last = { kind, scope }
      place = shared(scope.type, scope.id)
      prefix = JSON.stringify([kind.name, scope.type, scope.id]).slice(0, -1)
    }
    const name = `${prefix},${JSON.stringify(id)}]`
    if (names.has(name)) throw new TypeError(`the batch names ${name} twice`)
    names.add(name)
    const at = { kind: kind.name, scope: place, id }
    if (value === undefined) return { name, at, json: undefined, value, ifVersion }
    if (known !== undefined && Object.isFrozen(value)) return { name, at, json: known, value, ifVersion }
    return { name, at, json: jsonOf(value, name), value: isFrozenJson(value) ? value : undefined, ifVersion }
  })
}

/** Writes and audit entries of one batch. */
export interface Decided {
  readonly writes: readonly Prepared[]
  readonly audit: readonly AuditEntry[]
}

export const isNothing = ({ writes, audit }: Decided): boolean => writes.length + audit.length === 0

/** Decides the writes of a batch when it is its turn. `row` returns the result of all batches before it. */
export type Decide = (row: (name: string) => Row | undefined) => Decided

/** Result of a batch. */
export interface Commit {
  /** Number of the batch, and version of all records it wrote. If it wrote nothing, the number of the last batch. */
  readonly version: number
  readonly changes: readonly RowChange[]
  readonly audit: readonly AuditEntry[]
}

/** Returns the commit of a decision that got this version. */
export const committed = ({ writes, audit }: Decided, version: number): Commit => ({
  version,
  changes: writes.map(({ name, at, json, value }) => ({
    name,
    at,
    row: json === undefined ? undefined : new Row(at, version, json, value),
    json,
  })),
  audit,
})

/** Applies the edit of one record to its stored value. Throws what `edit` throws. */
export function decidedBy<T>(
  name: string,
  old: Stored<T> | undefined,
  edit: (old: T | undefined, version: number) => T | undefined,
  auditOf: ((before: T | undefined, after: T | undefined) => AuditEntry) | undefined,
): Decided {
  const ifVersion = old?.version ?? 0
  const value = edit(old?.value, ifVersion)
  if (value === old?.value) return { writes: [], audit: [] }
  const json = value === undefined ? undefined : jsonOf(value, name)
  const write = { name, at: named(name), json, value: isFrozenJson(value) ? value : undefined, ifVersion }
  return { writes: [write], audit: auditOf ? [auditOf(old?.value, value)] : [] }
}

export const conflict = (name: string, found: number, wanted: number): VersionConflict =>
  new VersionConflict(`${name} has version ${found}, not ${wanted}`)

/** Returns the JSON of a value. Throws TypeError if it has none, as for a function or a BigInt. */
function jsonOf(value: unknown, name: string): string {
  const json = JSON.stringify(value) as string | undefined
  if (json === undefined) throw new TypeError(`the value of ${name} is not JSON`)
  return json
}

/** Parts of a name. */
export interface Named {
  readonly kind: string
  readonly scope: Scope
  readonly id: string
}

/** Parses a name from {@link recordName}. */
export function named(name: string): Named {
  const [kind, type, scopeId, id] = JSON.parse(name) as [string, Scope['type'], string, string]
  return { kind, scope: shared(type, scopeId), id }
}

const MAX_SHARED = 10_000
const scopes = new Map<string, Scope>()

/** Returns the same object for the same scope. There are few, with many records in each. */
function shared(type: Scope['type'], id: string): Scope {
  const key = `${type}:${id}`
  let scope = scopes.get(key)
  if (!scope) {
    if (scopes.size >= MAX_SHARED) scopes.clear()
    scopes.set(key, (scope = Object.freeze({ type, id })))
  }
  return scope
}
