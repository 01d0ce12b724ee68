import type { Scope } from '../../src/core/scope.js'
import { VersionConflict, type Kind, type NameOwner, type Stored, type Write } from '../../src/core/store.js'
import { audit, audited, type Actor } from './audit.js'
import { KeyedEdits } from './keyed-edits.js'
import { ApiError, type ErrorKind } from '../http/errors.js'
import { QuotaReservation } from './quota.js'
import type { ControlDeps } from '../http/context.js'

interface Rules<T> {
  readonly kind: Kind<T>
  /** Records that make names unique. */
  readonly names: Kind<NameOwner>
  readonly idOf: (value: T) => string
  readonly nameOf: (value: T) => string
  /** Maximum number per scope. */
  readonly max: number
  readonly notFound: ErrorKind
  readonly taken: ErrorKind
  readonly tooMany: ErrorKind
}

/** Resources with an id and a name that is unique in their scope. */
export class NamedRepository<T extends object> {
  readonly #deps: Pick<ControlDeps, 'store' | 'clock'>
  readonly #rules: Rules<T>
  readonly #edits = new KeyedEdits()
  readonly #room = new QuotaReservation()

  constructor(deps: Pick<ControlDeps, 'store' | 'clock'>, rules: Rules<T>) {
    this.#deps = deps
    this.#rules = rules
  }

  /** Returns all, in the order of their ids. */
  all(scope: Scope): T[] {
    return this.#deps.store.list(this.#rules.kind, scope).map(({ value }) => value)
  }

  get(scope: Scope, id: string): T {
    return this.#stored(scope, id).value
  }

  find(scope: Scope, id: string): T | undefined {
    return this.#deps.store.get(this.#rules.kind, scope, id)?.value
  }

  /** Returns the one with this name. */
  named(scope: Scope, name: string): T | undefined {
    const owner = this.#deps.store.get(this.#rules.names, scope, name)?.value
    return owner && this.#deps.store.get(this.#rules.kind, scope, owner.id)?.value
  }

  async create(actor: Actor, value: T): Promise<T> {
    const { kind, names, idOf, nameOf, max, taken, tooMany } = this.#rules
    const { store, clock } = this.#deps
    const { scope } = actor
    const id = idOf(value)
    const name = nameOf(value)
    if (store.get(names, scope, name)) throw new ApiError(taken)
    await this.#room.take(scope.id, max - store.count(kind, scope), tooMany, async () => {
      await this.#unlessTaken(async () => {
        await store.batch(
          ...audited(clock, actor, { kind, scope, id, after: value }, [
            { kind: names, scope, id: name, value: { id }, ifVersion: 0 },
          ]),
        )
      })
    })
    return value
  }

  async change(actor: Actor, id: string, edit: (old: T) => T): Promise<T> {
    const { kind, names, nameOf, taken } = this.#rules
    const { store, clock } = this.#deps
    const { scope } = actor
    return await this.#edits.run(id, async () => {
      const { value: before, version } = this.#stored(scope, id)
      const after = edit(before)
      const [from, to] = [nameOf(before), nameOf(after)]
      if (from !== to && store.get(names, scope, to)) throw new ApiError(taken)
      const moved: Write[] = [
        { kind: names, scope, id: from, value: undefined },
        { kind: names, scope, id: to, value: { id }, ifVersion: 0 },
      ]
      await store.batch(
        ...audited(clock, actor, { kind, scope, id, before, after, ifVersion: version }, [
          ...(from === to ? [] : moved),
        ]),
      )
      return after
    })
  }

  /** Deletes one and writes `more` in the same batch. */
  async remove(actor: Actor, id: string, more: () => readonly Write[] = () => []): Promise<T> {
    const { kind } = this.#rules
    const { store, clock } = this.#deps
    const { scope } = actor
    return await this.#edits.run(id, async () => {
      const { value: before, version } = this.#stored(scope, id)
      await store.batch(
        [...this.removal(scope, before, version), ...more()],
        [audit(clock, actor, { kind, scope, id, before })],
      )
      return before
    })
  }

  /** Deletes several at once. All of them must exist. */
  async removeAll(actor: Actor, ids: readonly string[]): Promise<T[]> {
    const { kind } = this.#rules
    const { store, clock } = this.#deps
    const { scope } = actor
    return await this.#edits.run(scope.id, async () => {
      const found = ids.map((id) => this.#stored(scope, id))
      await store.batch(
        found.flatMap(({ value, version }) => this.removal(scope, value, version)),
        found.map(({ id, value }) => audit(clock, actor, { kind, scope, id, before: value })),
      )
      return found.map(({ value }) => value)
    })
  }

  /** Returns the changes that delete one. */
  removal(scope: Scope, value: T, ifVersion?: number): Write[] {
    const { kind, names, idOf, nameOf } = this.#rules
    return [
      { kind, scope, id: idOf(value), value: undefined, ...(ifVersion !== undefined && { ifVersion }) },
      { kind: names, scope, id: nameOf(value), value: undefined },
    ]
  }

  #stored(scope: Scope, id: string): Stored<T> {
    const found = this.#deps.store.get(this.#rules.kind, scope, id)
    if (!found) throw new ApiError(this.#rules.notFound)
    return found
  }

  /** A new record can only conflict over its name. */
  async #unlessTaken(work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      throw error instanceof VersionConflict ? new ApiError(this.#rules.taken) : error
    })
  }
}
