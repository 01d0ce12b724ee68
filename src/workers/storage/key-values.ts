import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { EventLoopYield, inSlices, type Pause } from '../../core/schedule/event-loop-yield.js'
import { frozenJson } from '../../core/json/frozen-json.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import { KV_NAMESPACES, KV_VALUES, kvId, type StoredValue } from '../../core/model/storage.js'
import type { Scope } from '../../core/scope.js'
import { VersionConflict, type Store, type Write } from '../../core/store.js'
import { firstFrom } from './sorted.js'

/** Bytes of a key, of a value, and of the JSON of its metadata. */
export const KV_LIMITS = { key: 512, value: 25 * 1024 * 1024, metadata: 1024 } as const

/** Maximum number of keys of an account, in all of its namespaces. */
export const MAX_KEYS = 100_000

/** Larger values are stored as blobs, because records stay in memory. */
const MAX_INLINE_BYTES = 1024

/** Of a sweep that others write into. */
const MAX_ATTEMPTS = 5

/** A value to store. */
export interface NewValue {
  readonly key: string
  readonly bytes: Buffer
  /** Unix time in seconds. */
  readonly expiration?: number
  readonly metadata?: unknown
}

/** A key as lists show it. */
export interface ListedKey {
  readonly name: string
  readonly expiration?: number
  readonly metadata?: unknown
}

/** The account has as many keys as it may have. */
export class TooManyKeys extends Error {
  override readonly name = 'TooManyKeys'
}

/** The namespace is not there, or no longer. */
export class NoNamespace extends Error {
  override readonly name = 'NoNamespace'
}

/**
 * Keys and values of all namespaces. The caller checks the limits of single values. This class enforces the limits of
 * accounts.
 */
export class KeyValues {
  readonly #store: Store
  readonly #blobs: () => Blobs
  readonly #clock: Clock
  readonly #maxKeys: number
  /** Keys that are about to be stored, by account. */
  readonly #coming = new Map<string, number>()
  readonly #sweeps = new KeyedMutex()
  readonly #slices = new EventLoopYield()
  readonly #pause: Pause = () => this.#slices.yieldToEventLoop()

  constructor({ store, blobs, clock }: { store: Store; blobs: () => Blobs; clock: Clock }, maxKeys: number) {
    this.#store = store
    this.#blobs = blobs
    this.#clock = clock
    this.#maxKeys = maxKeys
  }

  /** Returns the stored value of a key, without its bytes. */
  find(scope: Scope, namespaceId: string, key: string): StoredValue | undefined {
    const value = this.#store.get(KV_VALUES, scope, kvId(namespaceId, key))?.value
    return value && this.#lives(value) ? value : undefined
  }

  /** Returns the bytes of a value. */
  async bytes({ inline, blob }: StoredValue): Promise<Buffer> {
    if (blob === undefined) return Buffer.from(inline ?? '', 'base64')
    const bytes = await this.#blobs().get(blob)
    if (!bytes) throw new Error(`the blob ${blob} of a value is missing; restore it from a backup`)
    return bytes
  }

  /**
   * Stores values, in several batches of the store if there are many. If one fails, those before it are stored. Of
   * several values for one key, the last one counts.
   */
  async put(scope: Scope, namespaceId: string, values: readonly NewValue[]): Promise<void> {
    const last = new Map(values.map((value) => [value.key, value]))
    await this.#roomFor(scope, namespaceId, [...last.keys()], async () => {
      for await (const slice of inSlices(last.values(), this.#pause)) {
        const writes: Write[] = []
        for (const value of slice) {
          await this.#pause()
          writes.push(await this.#write(scope, namespaceId, value))
        }
        await this.#store.batch(writes)
      }
      if (this.#store.get(KV_NAMESPACES, scope, namespaceId)) return
      // The namespace was deleted while the values were written.
      await this.remove(scope, namespaceId, [...last.keys()])
      throw new NoNamespace()
    })
  }

  async #write(scope: Scope, namespaceId: string, { key, bytes, expiration, metadata }: NewValue): Promise<Write> {
    const value: StoredValue = {
      ...(bytes.length <= MAX_INLINE_BYTES
        ? { inline: bytes.toString('base64') }
        : { blob: await this.#blobs().put(bytes) }),
      size: bytes.length,
      ...(expiration !== undefined && { expiration }),
      ...(metadata !== undefined && { metadata }),
    }
    const json = JSON.stringify(value)
    // Metadata is any JSON.
    return { kind: KV_VALUES, scope, id: kvId(namespaceId, key), value: frozenJson(JSON.parse(json)), json }
  }

  /** Resolves with how many of the keys were there. The keys are removed in several batches of the store. */
  async remove(scope: Scope, namespaceId: string, keys: readonly string[]): Promise<number> {
    let removed = 0
    for await (const slice of inSlices(new Set(keys), this.#pause)) {
      const there = slice.filter((key) => this.find(scope, namespaceId, key))
      if (there.length === 0) continue
      removed += there.length
      await this.#store.batch(there.map((key) => removalOf(scope, kvId(namespaceId, key))))
    }
    return removed
  }

  /** Removes all values of a namespace, in several batches of the store. */
  async clear(scope: Scope, namespaceId: string): Promise<void> {
    for await (const slice of inSlices(this.removal(scope, namespaceId), this.#pause)) await this.#store.batch(slice)
  }

  /**
   * Returns up to `limit` keys that start with `prefix` and sort after `after`, in order. `more` is true if others
   * follow.
   */
  list(
    scope: Scope,
    namespaceId: string,
    { prefix = '', after, limit }: { prefix?: string | undefined; after?: string | undefined; limit: number },
  ): { keys: ListedKey[]; more: boolean } {
    const all = this.#store.list(KV_VALUES, scope)
    const first = kvId(namespaceId, prefix)
    const behind = after === undefined ? '' : kvId(namespaceId, after)
    const keys: ListedKey[] = []
    for (let at = firstFrom(all, behind > first ? behind : first); at < all.length; at++) {
      const { id, value } = all[at]!
      if (!id.startsWith(first)) break
      if (id === behind || !this.#lives(value)) continue
      if (keys.length === limit) return { keys, more: true }
      const { expiration, metadata } = value
      keys.push({
        name: id.slice(namespaceId.length + 1),
        ...(expiration !== undefined && { expiration }),
        ...(metadata !== undefined && { metadata }),
      })
    }
    return { keys, more: false }
  }

  /** Returns the writes that remove all values of a namespace. */
  removal(scope: Scope, namespaceId: string): Write[] {
    const all = this.#store.list(KV_VALUES, scope)
    // "0" is the sign after "/", which ends the id of the namespace.
    const values = all.slice(firstFrom(all, kvId(namespaceId, '')), firstFrom(all, `${namespaceId}0`))
    return values.map(({ id }) => removalOf(scope, id))
  }

  #lives({ expiration }: StoredValue): boolean {
    return expiration === undefined || expiration * 1000 > this.#clock.now()
  }

  /** Expired values are deleted if the quota is exceeded. */
  async #roomFor(scope: Scope, namespaceId: string, keys: string[], work: () => Promise<void>): Promise<void> {
    // An expired key counts as new, because it may be deleted before it is stored again.
    let added = 0
    for await (const slice of inSlices(keys, this.#pause))
      added += slice.filter((key) => !this.find(scope, namespaceId, key)).length
    const coming = () => this.#coming.get(scope.id) ?? 0
    const full = () => added > 0 && this.#store.count(KV_VALUES, scope) + coming() + added > this.#maxKeys
    if (full()) await this.#sweep(scope)
    if (full()) throw new TooManyKeys(`an account has at most ${this.#maxKeys} keys`)
    this.#coming.set(scope.id, coming() + added)
    try {
      await work()
    } finally {
      const left = (this.#coming.get(scope.id) ?? added) - added
      if (left > 0) this.#coming.set(scope.id, left)
      else this.#coming.delete(scope.id)
    }
  }

  /** Sequential, so that no sweep deletes keys that another sweep has deleted. */
  async #sweep(scope: Scope): Promise<void> {
    await this.#sweeps.run(scope.id, async () => {
      for (let tries = 1; ; tries += 1) {
        const over = this.#store.list(KV_VALUES, scope).filter(({ value }) => !this.#lives(value))
        if (over.length === 0) return
        try {
          for await (const slice of inSlices(over, this.#pause))
            await this.#store.batch(slice.map(({ id, version }) => ({ ...removalOf(scope, id), ifVersion: version })))
        } catch (error) {
          // A key was stored again in between.
          if (!(error instanceof VersionConflict) || tries === MAX_ATTEMPTS) throw error
        }
      }
    })
  }
}

const removalOf = (scope: Scope, id: string): Write => ({ kind: KV_VALUES, scope, id, value: undefined })

/** Blobs that values refer to, for the collector of orphans. */
export function* blobsOfValues(store: Store): Generator<string> {
  for (const { value } of store.list(KV_VALUES)) if (value.blob !== undefined) yield value.blob
}
