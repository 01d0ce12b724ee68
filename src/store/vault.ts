import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../core/log.js'
import { DAEMON } from '../core/scope.js'
import { kind, type Store, type Stored } from '../core/store.js'
import { secretOf, type Sealed } from '../core/vault.js'
import { makeFolder, writeDurably, type Disk } from '../disk/durable-write.js'
import { isSealed, keyId, keyIdOf, Keyring, parsedKey } from './keyring.js'

/** Source of the key for secrets at rest. */
export interface SecretKeys {
  /** The key itself, 64 hexadecimal digits or 44 of base64. Overrides the file. */
  readonly key?: string
  /** File of the key. Created, for its owner only, if it is absent and the store has no secrets yet. */
  readonly keyFile: string
  /** Old keys that still decrypt. */
  readonly oldKeys?: readonly string[]
  /** File system that a new key file is written to. Default: that of Node. */
  readonly disk?: Disk
}

/** Returns the keys that a configuration names. */
export const secretKeys = (config: {
  readonly data: string
  readonly secrets: { readonly key_file?: string; readonly key?: string; readonly old_keys?: readonly string[] }
}): SecretKeys => ({
  keyFile: config.secrets.key_file ?? `${config.data}/secret.key`,
  ...(config.secrets.key !== undefined && { key: config.secrets.key }),
  ...(config.secrets.old_keys !== undefined && { oldKeys: config.secrets.old_keys }),
})

/** Value that is encrypted when the vault is first opened, so that a wrong key is noticed before data is lost. */
const CHECK = kind<Sealed>('vault_check')
const CHECK_ID = 'key'
const CHECK_TEXT = 'edged'

/**
 * Opens the vault of a store. Rejects if its key did not encrypt the store's secrets. If several machines share a
 * store, all of them need the same key.
 */
export async function openVault(
  store: Store,
  { key, keyFile, oldKeys = [], disk = fs }: SecretKeys,
  log: Log,
): Promise<Keyring> {
  const check = store.get(CHECK, DAEMON, CHECK_ID)
  const current =
    key === undefined ? await keyFrom(keyFile, check === undefined, log, disk) : parsedKey(key, 'secrets.key')
  const ring = new Keyring([current, ...oldKeys.map((old) => parsedKey(old, 'secrets.old_keys'))])
  const aad = secretOf(CHECK, DAEMON, CHECK_ID)
  const made = check ?? (await firstCheck(store, { sealed: ring.seal(CHECK_TEXT, aad) }))
  try {
    ring.open(made.value.sealed, aad)
  } catch (cause) {
    const needed = keyIdOf(made.value.sealed)
    throw new Error(
      `the secrets key has id ${keyId(current)}, but the secrets in the store were sealed with key ${needed}: ` +
        `configure that key, or name it in secrets.old_keys`,
      { cause },
    )
  }
  if (ring.stale(made.value.sealed)) log.warn({ event: 'secrets_under_old_key', next: 'run edged secrets rotate' })
  return ring
}

/** Stores the check. If several machines start concurrently, one creates it and the others read it. */
async function firstCheck(store: Store, value: Sealed): Promise<{ value: Sealed }> {
  const stored = await store.change(CHECK, DAEMON, CHECK_ID, (old) => old ?? value)
  return stored ?? { value }
}

/** Reads the current key. Rejects if its file does not exist. */
export async function readKey({ key, keyFile }: SecretKeys): Promise<Buffer> {
  return key === undefined
    ? parsedKey((await fs.readFile(keyFile, 'utf8')).trim(), keyFile)
    : parsedKey(key, 'secrets.key')
}

async function keyFrom(file: string, mayMake: boolean, log: Log, disk: Disk): Promise<Buffer> {
  try {
    const text = await fs.readFile(file, 'utf8')
    const others = (await fs.stat(file)).mode & 0o077
    if (others) log.warn({ event: 'secrets_key_readable_by_others', file })
    return parsedKey(text.trim(), file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (!mayMake)
      throw new Error(`the key file ${file} is missing, and the store holds secrets that only its key opens`, {
        cause: error,
      })
  }
  await makeFolder(disk, dirname(file))
  const key = randomBytes(32)
  await writeDurably(disk, file, `${key.toString('hex')}\n`)
  return key
}

/** Result of a rotation, in numbers of encrypted texts. */
export interface Rotation {
  /** Encrypted again with the current key. */
  readonly resealed: number
  /** Left unchanged, because no key decrypts them. */
  readonly failed: number
}

const CONCURRENCY = 64

/** Purpose of the derived keys that encrypt what certificates need. Proxy processes have no other keys. */
export const CERTIFICATES = 'acme certificates'

/** Kinds of records whose member `key` is a text that a derived key encrypts, with its purpose. */
const DERIVED: ReadonlyMap<string, string> = new Map([
  ['acme_account', CERTIFICATES],
  ['managed_certificate', CERTIFICATES],
  ['acme_challenge', CERTIFICATES],
])

/** Encrypts every secret in the store with the current key. Old keys are not needed afterwards. */
export async function rotate(store: Store, ring: Keyring): Promise<Rotation> {
  const total = { resealed: 0, failed: 0 }
  // The check is last: until all secrets are done, a start without the old key is rejected.
  const records = [...store.records()]
    .filter(({ kind, value }) => DERIVED.has(kind) || JSON.stringify(value).includes('{"sealed":"v1.'))
    .sort((a, b) => Number(a.kind === CHECK.name) - Number(b.kind === CHECK.name))
  for (let from = 0; from < records.length; from += CONCURRENCY) {
    const some = records.slice(from, from + CONCURRENCY).map((record) => rotateIn(store, ring, record))
    for (const { resealed, failed } of await Promise.all(some)) {
      total.resealed += resealed
      total.failed += failed
    }
  }
  return total
}

async function rotateIn(store: Store, ring: Keyring, { kind: name, scope, id }: Stored<unknown>): Promise<Rotation> {
  const aad = secretOf(kind(name), scope, id)
  const purpose = DERIVED.get(name)
  const derived = purpose === undefined ? undefined : new Keyring(ring.deriveAll(purpose))
  let done = { resealed: 0, failed: 0 }
  const resealed = (sealed: string, by: Keyring): string => {
    try {
      const text = by.seal(by.open(sealed, aad), aad)
      done.resealed += 1
      return text
    } catch {
      done.failed += 1
      return sealed
    }
  }
  await store.change(kind(name), scope, id, (old) => {
    done = { resealed: 0, failed: 0 }
    if (old === undefined) return old
    const next: unknown = JSON.parse(JSON.stringify(old), (member, part: unknown) => {
      if (derived && member === 'key' && typeof part === 'string')
        return derived.stale(part) ? resealed(part, derived) : part
      return isSealed(part) && ring.stale(part.sealed) ? { sealed: resealed(part.sealed, ring) } : part
    })
    return done.resealed > 0 ? next : old
  })
  return done
}
