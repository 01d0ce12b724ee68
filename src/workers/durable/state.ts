import { newId } from '../../core/ids.js'
import type { StoredNamespace, StoredTransfer } from '../../core/model/worker.js'

/** The Durable Object classes of an account as an upload finds them. */
export interface DurableState {
  readonly namespaces: readonly StoredNamespace[]
  readonly transfers: readonly StoredTransfer[]
}

/** Changes by an upload: namespaces by id, transfers by target and class. Undefined marks a deletion. */
export interface DurableChange {
  readonly namespaces: ReadonlyMap<string, StoredNamespace | undefined>
  readonly transfers: readonly { readonly transfer: StoredTransfer; readonly gone: boolean }[]
}

/** A state with pending changes. Reads include the changes. */
export class DurableDraft {
  readonly #before: ReadonlyMap<string, StoredNamespace>
  readonly #namespaces: Map<string, StoredNamespace>
  readonly #transfers: StoredTransfer[]
  readonly #moved: { transfer: StoredTransfer; gone: boolean }[] = []

  constructor({ namespaces, transfers }: DurableState) {
    this.#before = new Map(namespaces.map((namespace) => [namespace.id, namespace]))
    this.#namespaces = new Map(this.#before)
    this.#transfers = [...transfers]
  }

  find(script: string, className: string): StoredNamespace | undefined {
    return this.of(script).find((namespace) => namespace.class === className)
  }

  /** Returns the namespaces of one script. */
  of(script: string): StoredNamespace[] {
    return [...this.#namespaces.values()].filter((namespace) => namespace.script === script)
  }

  byId(id: string): StoredNamespace | undefined {
    return this.#namespaces.get(id)
  }

  create(script: string, className: string, more: Pick<StoredNamespace, 'use_sqlite' | 'container'>): StoredNamespace {
    const made = { id: newId(), script, class: className, ...more }
    this.#namespaces.set(made.id, made)
    return made
  }

  put(namespace: StoredNamespace): void {
    this.#namespaces.set(namespace.id, namespace)
  }

  remove({ id }: StoredNamespace): void {
    this.#namespaces.delete(id)
  }

  /** Returns the transfers that `fits` accepts. */
  transfers(fits: (transfer: StoredTransfer) => boolean): StoredTransfer[] {
    return this.#transfers.filter(fits)
  }

  expect(transfer: StoredTransfer): void {
    this.#transfers.push(transfer)
    this.#moved.push({ transfer, gone: false })
  }

  settle(transfer: StoredTransfer): void {
    this.#transfers.splice(this.#transfers.indexOf(transfer), 1)
    this.#moved.push({ transfer, gone: true })
  }

  change(): DurableChange {
    const namespaces = new Map<string, StoredNamespace | undefined>()
    for (const [id, before] of this.#before) {
      const after = this.#namespaces.get(id)
      if (after !== before) namespaces.set(id, after)
    }
    for (const [id, after] of this.#namespaces) if (!this.#before.has(id)) namespaces.set(id, after)
    return { namespaces, transfers: this.#moved }
  }
}
