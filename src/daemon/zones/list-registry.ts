import type { Config } from '../../config/schema.js'
import {
  LIST_ITEMS,
  LISTS,
  type ListBucket,
  type ListItem,
  type ListKind,
  type StoredList,
} from '../../core/model/list.js'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import type { Change, StoreReader, Stored } from '../../core/store.js'
import type { Bytes, Lists, NamedList } from '../../expr/index.js'
import { configuredItem } from '../../lists/item-check.js'
import { LIST_TYPES } from '../../lists/index.js'
import type { FoundRedirect, ItemTable } from '../../lists/list-type.js'

interface OpenList {
  readonly kind: ListKind
  readonly name: string
  readonly accountId: string
  readonly table: ItemTable
  /** The stored items by bucket, to remove them if a bucket changes. */
  readonly buckets: Map<string, readonly ListItem[]>
}

/** Changed buckets that are applied in one turn of the event loop, with 40 items each in a list of 10,000. */
const MAX_BUCKETS_PER_TURN = 16

type Named = Pick<OpenList, 'kind' | 'table'>

/** Lists of the configuration, by name. */
type Configured = ReadonlyMap<string, Named & { readonly options: Config['lists'][number] }>

/** The kind of list in which values of a type are searched. */
const KIND_FOR = { Ip: 'ip', Bytes: 'hostname', Int: 'asn' } as const

/**
 * The active named lists. Lists of the configuration are visible to every account, lists of an account only to that
 * account. A change from any machine applies to the next request. A change of many items applies within a few turns of
 * the event loop. Its cost depends on the number of changed items, not on the list's size.
 */
export class ListRegistry {
  #configured: Configured
  readonly #open = new Map<string, OpenList>()
  /** By account, then by name. */
  readonly #byName = new Map<string, Map<string, OpenList>>()
  readonly #unwatch: () => void
  readonly #pause: Pause
  /** Changed buckets that are not in force yet, by their ids. */
  readonly #waiting = new Map<string, Stored<ListBucket | undefined>>()
  #applying: Promise<void> | undefined

  constructor(store: StoreReader, config: Config['lists'], pause?: Pause) {
    const slices = new EventLoopYield()
    this.#pause = pause ?? (() => slices.yieldToEventLoop())
    this.#configured = configuredLists(config)
    for (const stored of store.list(LISTS)) this.#list(stored)
    for (const stored of store.list(LIST_ITEMS)) this.#bucket(stored)
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  /**
   * Creates the lists of a reloaded configuration with pauses, and returns a function that puts them in force. A list whose
   * options are the same object as before is not created again.
   */
  async prepare(config: Config['lists']): Promise<() => void> {
    const next = new Map<string, Named & { options: Config['lists'][number] }>()
    for (const options of config) {
      const known = this.#configured.get(options.name)
      next.set(options.name, known?.options === options ? known : await this.#created(options))
    }
    return () => void (this.#configured = next)
  }

  async #created(options: Config['lists'][number]) {
    const { kind, items } = options
    const table = LIST_TYPES[kind].table()
    for (const item of items) {
      table.add(configuredItem(kind, item))
      await this.#pause()
    }
    return { kind, table, options }
  }

  /**
   * Returns the lists of an account for expressions. The result stays valid: lookups use the current list, even one
   * that is created, emptied or replaced later.
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

  /** Returns the redirect for a URL in a redirect list of an account. */
  redirect(accountId: string, list: string, url: Bytes): FoundRedirect | undefined {
    return this.#named(accountId, list)?.table.find?.(url)
  }

  /** Resolves when all changes are in force. Returns undefined if they are. */
  get applied(): Promise<void> | undefined {
    return this.#applying
  }

  close(): void {
    this.#unwatch()
    this.#waiting.clear()
  }

  #named(accountId: string, name: string): Named | undefined {
    return this.#configured.get(name) ?? this.#byName.get(accountId)?.get(name)
  }

  #changed(changes: readonly Change[]): void {
    // Lists before their items: a new list and its first items can be in one batch.
    for (const change of changes) if (change.kind === LISTS.name) this.#list(change as Stored<StoredList | undefined>)
    const buckets = changes.filter(({ kind }) => kind === LIST_ITEMS.name) as Stored<ListBucket | undefined>[]
    if (this.#waiting.size === 0 && buckets.length <= MAX_BUCKETS_PER_TURN)
      return buckets.forEach((one) => this.#bucket(one))
    for (const bucket of buckets) this.#waiting.set(bucket.id, bucket)
    this.#applying ??= this.#applyInSlices()
    // The write that waits for it fails.
    this.#applying.catch(() => undefined)
  }

  /** Applies many changed items with pauses. An item that the change keeps is in the list at any time. */
  async #applyInSlices(): Promise<void> {
    const errors: unknown[] = []
    for (const [id, bucket] of this.#waiting) {
      this.#waiting.delete(id)
      try {
        this.#bucket(bucket)
      } catch (error) {
        errors.push(error)
      }
      await this.#pause()
    }
    this.#applying = undefined
    if (errors.length > 0) throw errors[0]
  }

  #list({ scope, id, value }: Stored<StoredList | undefined>): void {
    const known = this.#open.get(id)
    if (value === undefined) {
      this.#open.delete(id)
      const names = this.#byName.get(scope.id)
      // The name can have a new owner already.
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

function configuredLists(config: Config['lists']): Configured {
  return new Map(
    config.map((options) => {
      const { name, kind, items } = options
      const table = LIST_TYPES[kind].table()
      for (const item of items) table.add(configuredItem(kind, item))
      return [name, { kind, table, options }]
    }),
  )
}
