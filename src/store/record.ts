import type { Scope } from '../core/scope.js'
import { VersionConflict, type AuditEntry, type Stored, type Write } from '../core/store.js'

/**
 * The name of a record in every store: a JSON array, so that any text may stand in an id without meeting another
 * record's name, and so that the name can be read back.
 */
export const recordName = (kind: string, scope: Scope, id: string): string =>
  JSON.stringify([kind, scope.type, scope.id, id])

/** A record as it is kept: its JSON is parsed when somebody first asks, so that a start pays only for what is used. */
export class Row implements Named {
  readonly kind: string
  readonly scope: Scope
  readonly id: string
  readonly version: number
  /** Checksum of its bytes, where the place that keeps it wants one: a signed 32-bit integer, which takes no room of its own. */
  sum = 0
  #json: Buffer | string | undefined
  #stored: Stored<unknown> | undefined

  constructor(name: string, version: number, json: Buffer | string) {
    const { kind, scope, id } = named(name)
    this.kind = kind
    this.scope = scope
    this.id = id
    this.version = version
    this.#json = json
  }

  /** Made when it is asked for: it would take as much room as many a record. */
  get name(): string {
    return recordName(this.kind, this.scope, this.id)
  }

  get stored(): Stored<unknown> {
    if (this.#stored) return this.#stored
    const value = JSON.parse(String(this.#json)) as { id?: unknown } | null
    // Most values tell their id as well: one text is enough for both.
    if (value?.id === this.id) value.id = this.id
    this.#stored = this.#with(frozen(value))
    this.#json = undefined
    return this.#stored
  }

  /** What watchers are told when it is removed. */
  get removed(): Stored<undefined> {
    return this.#with(undefined)
  }

  // A literal, since objects made with `...` have a hidden class each, which takes more room than the object.
  #with<T>(value: T): Stored<T> {
    const { kind, scope, id, version } = this
    return Object.freeze({ kind, scope, id, version, value })
  }

  get json(): string {
    return this.#json === undefined ? JSON.stringify(this.stored.value) : String(this.#json)
  }
}

/** One change of one record: what it is from now on, undefined when it was removed. */
export interface RowChange {
  readonly name: string
  readonly row: Row | undefined
}

/** A write whose value has become text, so that nothing that its caller does later changes what is stored. */
export interface Prepared {
  readonly name: string
  readonly json: string | undefined
  readonly ifVersion: number | undefined
}

/** Throws TypeError for a value that JSON has no form for and for a record that is named twice. */
export function prepared(writes: readonly Write[]): Prepared[] {
  const names = new Set<string>()
  return writes.map(({ kind, scope, id, value, ifVersion }) => {
    const name = recordName(kind.name, scope, id)
    if (names.has(name)) throw new TypeError(`the batch names ${name} twice`)
    names.add(name)
    return { name, json: value === undefined ? undefined : jsonOf(value, name), ifVersion }
  })
}

/** What one batch is to do. */
export interface Decided {
  readonly writes: readonly Prepared[]
  readonly audit: readonly AuditEntry[]
}

export const isNothing = ({ writes, audit }: Decided): boolean => writes.length + audit.length === 0

/** What a batch wants, said when its turn comes: `row` shows what all batches before it leave behind. */
export type Decide = (row: (name: string) => Row | undefined) => Decided

/** What a batch did. */
export interface Commit {
  /** Number of the batch, and version of all that it wrote; when it did nothing, that of the last one. */
  readonly version: number
  readonly changes: readonly RowChange[]
  readonly audit: readonly AuditEntry[]
}

/** The commit that a decision comes to, with the version that it got. */
export const committed = ({ writes, audit }: Decided, version: number): Commit => ({
  version,
  changes: writes.map(({ name, json }) => ({
    name,
    row: json === undefined ? undefined : new Row(name, version, json),
  })),
  audit,
})

/** What the edit of one record comes to, given what is stored now. Throws what `edit` throws. */
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
  return { writes: [{ name, json, ifVersion }], audit: auditOf ? [auditOf(old?.value, value)] : [] }
}

export const conflict = (name: string, found: number, wanted: number): VersionConflict =>
  new VersionConflict(`${name} has version ${found}, not ${wanted}`)

/** The text of a value; TypeError where it has none, as for a function or a BigInt. */
function jsonOf(value: unknown, name: string): string {
  const json = JSON.stringify(value) as string | undefined
  if (json === undefined) throw new TypeError(`the value of ${name} is not JSON`)
  return json
}

/** What a name is made of. */
export interface Named {
  readonly kind: string
  readonly scope: Scope
  readonly id: string
}

/** The parts that {@link recordName} made a name of. */
export function named(name: string): Named {
  const [kind, type, scopeId, id] = JSON.parse(name) as [string, Scope['type'], string, string]
  return { kind, scope: shared(type, scopeId), id }
}

const MAX_SHARED = 10_000
const scopes = new Map<string, Scope>()

/** The same object for the same scope: there are few, and many records in each. */
function shared(type: Scope['type'], id: string): Scope {
  const key = `${type}:${id}`
  let scope = scopes.get(key)
  if (!scope) {
    if (scopes.size >= MAX_SHARED) scopes.clear()
    scopes.set(key, (scope = Object.freeze({ type, id })))
  }
  return scope
}

/** Freezes a JSON value with all that is inside. A list of what is left rather than recursion: depth has no limit. */
function frozen(value: unknown): unknown {
  const left = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) if (typeof inner === 'object' && inner !== null) left.push(inner)
  }
  return value
}
