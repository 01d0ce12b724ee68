import type { Config } from '../config/schema.js'
import {
  LIST_ITEMS,
  LISTS,
  type ListBucket,
  type ListItem,
  type ListKind,
  type StoredList,
} from '../core/model/list.js'
import type { Change, Store, Stored } from '../core/store.js'
import type { Bytes, Lists, NamedList } from '../expr/index.js'
import { configuredItem } from '../lists/item-check.js'
import { LIST_TYPES } from '../lists/index.js'
import type { FoundRedirect, ItemTable } from '../lists/list-type.js'

interface OpenList {
  readonly kind: ListKind
  readonly name: string
  readonly accountId: string
  readonly table: ItemTable
  /** The stored items by bucket: what is taken out when a bucket changes. */
  readonly buckets: Map<string, readonly ListItem[]>
}

type Named = Pick<OpenList, 'kind' | 'table'>

/** The kind of list that values of a type are looked for in. */
const KIND_FOR = { Ip: 'ip', Bytes: 'hostname', Int: 'asn' } as const

/**
 * The named lists in force: those of the configuration, which every account sees, and those of the accounts. A change is
 * seen by the next request, whichever machine it was made on; it costs as much as the items that changed, not as the list.
 */
export class ListRegistry {
  #configured: ReadonlyMap<string, Named>
  readonly #open = new Map<string, OpenList>()
  /** By account, then by name. */
  readonly #byName = new Map<string, Map<string, OpenList>>()
  readonly #unwatch: () => void

  constructor(store: Store, config: Config['lists']) {
    this.#configured = configuredLists(config)
    for (const stored of store.list(LISTS)) this.#list(stored)
    for (const stored of store.list(LIST_ITEMS)) this.#bucket(stored)
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  /** Takes over the lists of a configuration that was read again. */
  configure(config: Config['lists']): void {
    this.#configured = configuredLists(config)
  }

  /**
   * The lists of an account, as expressions name them. What it gives stays in force: a list that is made, emptied or
   * replaced later is asked as it is then.
   */
  lists(accountId: string): Lists {
    return {
      get: (name, type): NamedList => ({
        has: (value) => {
          const list = this.#named(accountId, name)
          if (list?.kind === 'redirect') return type === 'Bytes' && list.table.find?.(value as Bytes) !== undefined
          return list?.kind === KIND_FOR[type] && list.table.has?.(value) === true
        },
      }),
    }
  }

  /** Where a redirect list of an account sends a URL. */
  redirect(accountId: string, list: string, url: Bytes): FoundRedirect | undefined {
    return this.#named(accountId, list)?.table.find?.(url)
  }

  close(): void {
    this.#unwatch()
  }

  #named(accountId: string, name: string): Named | undefined {
    return this.#configured.get(name) ?? this.#byName.get(accountId)?.get(name)
  }

  #changed(changes: readonly Change[]): void {
    // Lists before their items: a new list and its first items may come in one batch.
    for (const change of changes) if (change.kind === LISTS.name) this.#list(change as Stored<StoredList | undefined>)
    for (const change of changes)
      if (change.kind === LIST_ITEMS.name) this.#bucket(change as Stored<ListBucket | undefined>)
  }

  #list({ scope, id, value }: Stored<StoredList | undefined>): void {
    const known = this.#open.get(id)
    if (value === undefined) {
      this.#open.delete(id)
      const names = this.#byName.get(scope.id)
      // The name may have a new owner already.
      if (known && names?.get(known.name) === known) names.delete(known.name)
      if (names?.size === 0) this.#byName.delete(scope.id)
      return
    }
    if (known) return
    const { kind, name } = value
    const list = { kind, name, accountId: scope.id, table: LIST_TYPES[kind].table(), buckets: new Map() }
    this.#open.set(id, list)
    let names = this.#byName.get(scope.id)
    if (!names) this.#byName.set(scope.id, (names = new Map()))
    names.set(name, list)
  }

  #bucket({ id, value }: Stored<ListBucket | undefined>): void {
    const list = this.#open.get(value?.list_id ?? id.slice(0, id.lastIndexOf('.')))
    if (!list) return
    const { table, buckets } = list
    const kept = new Set(value?.items.map((item) => item.id))
    for (const item of buckets.get(id) ?? []) if (!kept.has(item.id)) table.remove(item)
    for (const item of value?.items ?? []) table.add(item)
    if (value) buckets.set(id, value.items)
    else buckets.delete(id)
  }
}

function configuredLists(config: Config['lists']): ReadonlyMap<string, Named> {
  return new Map(
    config.map(({ name, kind, items }) => {
      const table = LIST_TYPES[kind].table()
      for (const item of items) table.add(configuredItem(kind, item))
      return [name, { kind, table }]
    }),
  )
}
