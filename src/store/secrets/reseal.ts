import { setImmediate as turn } from 'node:timers/promises'
import { kind, type Store, type Stored } from '../../core/store.js'
import { secretOf } from '../../core/vault.js'
import { isSealed, type Keyring } from './keyring.js'
import { CHECK } from './vault.js'

/** Purpose of the derived keys that encrypt what certificates need. Proxy processes have no other keys. */
export const CERTIFICATES = 'acme certificates'

/** Kinds of records whose member `key` is a text that a derived key encrypts. */
const WITH_CERTIFICATES: ReadonlySet<string> = new Set(['acme_account', 'managed_certificate', 'acme_challenge'])

const CONCURRENCY = 64
/** Records that are read before other work runs. */
const SLICE = 500

/** Result of a rotation, in numbers of encrypted texts. */
export interface Rotation {
  /** Encrypted again with the current key. */
  readonly resealed: number
  /** Left unchanged, because no key decrypts them. */
  readonly failed: number
}

/** Numbers of encrypted texts in a store, without its check. */
export interface SealedCounts {
  /** By the id of the key, for each key of the ring. */
  readonly byKey: ReadonlyMap<string, number>
  /** Texts that no key of the ring decrypts. */
  readonly unreadable: number
}

type Record = Pick<Stored<unknown>, 'kind' | 'scope' | 'id' | 'value'>

/** Returns whether a record has a text that is not encrypted with the current key. */
export function hasStale(record: Record, ring: Keyring): boolean {
  const own = ringFor(record, ring)
  for (const text of sealedTexts(record.kind, record.value)) if (own.stale(text)) return true
  return false
}

/**
 * Encrypts every secret in the store with the current key. Old keys are not needed afterwards. With `check: false` a
 * start without the old key is still rejected.
 */
export async function rotate(store: Store, ring: Keyring, { check = true } = {}): Promise<Rotation> {
  const total = { resealed: 0, failed: 0 }
  const stale: Stored<unknown>[] = []
  for await (const record of inSlices(store.records())) if (hasStale(record, ring)) stale.push(record)
  // The check is last. Until all secrets are done, a start without the old key is rejected.
  const records = stale.filter(({ kind }) => kind !== CHECK.name)
  if (check) records.push(...stale.filter(({ kind }) => kind === CHECK.name))
  for (let from = 0; from < records.length; from += CONCURRENCY) {
    const some = records.slice(from, from + CONCURRENCY).map((record) => rotateIn(store, ring, record))
    for (const { resealed, failed } of await Promise.all(some)) {
      total.resealed += resealed
      total.failed += failed
    }
  }
  return total
}

/** Returns the value of a record with every secret encrypted with the current key, and the counts of the changes. */
export function resealed(record: Record, ring: Keyring): Rotation & { readonly value: unknown } {
  if (!hasStale(record, ring)) return { value: record.value, resealed: 0, failed: 0 }
  const aad = secretOf(kind(record.kind), record.scope, record.id)
  const own = ringFor(record, ring)
  const done = { resealed: 0, failed: 0 }
  const again = (sealed: string): string => {
    if (!own.stale(sealed)) return sealed
    let plain
    try {
      plain = own.open(sealed, aad)
    } catch {
      done.failed += 1
      return sealed
    }
    done.resealed += 1
    return own.seal(plain, aad)
  }
  const isCertificate = WITH_CERTIFICATES.has(record.kind)
  const value: unknown = JSON.parse(JSON.stringify(record.value), (member, part: unknown) => {
    if (isCertificate) return member === 'key' && typeof part === 'string' ? again(part) : part
    return isSealed(part) ? { sealed: again(part.sealed) } : part
  })
  return { ...done, value: done.resealed > 0 ? value : record.value }
}

/** Counts the encrypted texts of a store, by key. Other work can run during the count. */
export async function countSealed(store: Pick<Store, 'records'>, ring: Keyring): Promise<SealedCounts> {
  const counts = ring.ids.map(() => 0)
  let unreadable = 0
  for await (const record of inSlices(store.records())) {
    if (record.kind === CHECK.name) continue
    const own = ringFor(record, ring)
    for (const text of sealedTexts(record.kind, record.value)) {
      const position = own.positionOf(text)
      // Users may store texts that look encrypted. They must not keep an old key in use.
      if (position >= 0 && (!own.stale(text) || opens(own, text, record))) counts[position]! += 1
      else unreadable += 1
    }
  }
  return { byKey: new Map(ring.ids.map((id, position) => [id, counts[position]!])), unreadable }
}

function opens(ring: Keyring, text: string, { kind: name, scope, id }: Record): boolean {
  try {
    ring.open(text, secretOf(kind(name), scope, id))
    return true
  } catch {
    return false
  }
}

const ringFor = ({ kind }: Record, ring: Keyring): Keyring =>
  WITH_CERTIFICATES.has(kind) ? ring.derivedRing(CERTIFICATES) : ring

function* sealedTexts(kind: string, value: unknown): Generator<string> {
  if (WITH_CERTIFICATES.has(kind)) {
    const { key } = value as { readonly key?: unknown }
    if (typeof key === 'string') yield key
  } else yield* sealedIn(value)
}

function* sealedIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  if (isSealed(value)) yield value.sealed
  else for (const part of Object.values(value)) yield* sealedIn(part)
}

async function* inSlices<T>(all: Iterable<T>): AsyncGenerator<T> {
  const records = Array.from(all)
  for (const [count, one] of records.entries()) {
    yield one
    if (count % SLICE === SLICE - 1) await turn()
  }
}

async function rotateIn(store: Store, ring: Keyring, { kind: name, scope, id }: Stored<unknown>): Promise<Rotation> {
  let done: Rotation = { resealed: 0, failed: 0 }
  await store.change(kind(name), scope, id, (old) => {
    done = { resealed: 0, failed: 0 }
    if (old === undefined) return old
    const { value, ...counts } = resealed({ kind: name, scope, id, value: old }, ring)
    done = counts
    return value
  })
  return done
}
