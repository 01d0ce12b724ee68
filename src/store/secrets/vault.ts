import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../../core/log.js'
import { DAEMON } from '../../core/scope.js'
import { kind, type Store } from '../../core/store.js'
import { secretOf, type Sealed } from '../../core/vault.js'
import { makeFolder, syncEntry, writeDurably, type Disk } from '../../disk/durable-write.js'
import { keyIdOf, Keyring, parsedKey } from './keyring.js'

/** Source of the key for secrets at rest. */
export interface SecretKeys {
  /** The key itself, 64 hexadecimal digits or 44 of base64. Overrides the file. */
  readonly key?: string
  /** File of the key, or of several, one per line, the one to encrypt with first. Created, for its owner only, if it is absent and the store has no secrets yet. */
  readonly keyFile: string
  /** Old keys that still decrypt. */
  readonly oldKeys?: readonly string[]
  /** File system that a new key file is written to. The default is the file system of Node. */
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
export const CHECK = kind<Sealed>('vault_check')
export const CHECK_ID = 'key'
const CHECK_TEXT = 'edged'

/**
 * The key that all machines with the same store encrypt with. If absent, the key of the check is used. It has the scope
 * of daemons. The id is {@link CHECK_ID}.
 */
export const WRITING_KEY = kind<{ readonly key: string }>('vault_writing_key')

/**
 * Opens the vault of a store. Rejects if it lacks the key of the store's secrets. With `shared`, other
 * machines use the store, and the ring encrypts with the common key. Otherwise it encrypts with the configured key.
 */
export async function openVault(
  store: Store,
  secrets: SecretKeys,
  log: Log,
  { shared = false } = {},
): Promise<Keyring> {
  const check = store.get(CHECK, DAEMON, CHECK_ID)
  const ring = new Keyring(await configuredKeys(secrets, { mayMake: check === undefined, log }))
  const aad = secretOf(CHECK, DAEMON, CHECK_ID)
  const made = check ?? (await firstCheck(store, { sealed: ring.seal(CHECK_TEXT, aad) }))
  try {
    ring.open(made.value.sealed, aad)
  } catch (cause) {
    throw new Error(lacks(ring, keyIdOf(made.value.sealed)), { cause })
  }
  if (!shared) return ring
  ring.use(writingKey(store) ?? ring.id)
  if (ring.missing !== undefined) throw new Error(lacks(ring, ring.missing))
  return ring
}

const lacks = (ring: Keyring, needed: string | undefined): string =>
  `the secrets key has id ${ring.ids[0]}, but the secrets in the store were sealed with key ${needed}: ` +
  `configure that key, or name it in secrets.old_keys`

/** Returns the id of the key that machines with this store encrypt with. Undefined if the store is new. */
export const writingKey = (store: Pick<Store, 'get'>): string | undefined =>
  store.get(WRITING_KEY, DAEMON, CHECK_ID)?.value.key ?? keyIdOf(store.get(CHECK, DAEMON, CHECK_ID)?.value.sealed ?? '')

/** Stores the check. If several machines start concurrently, one creates it and the others read it. */
async function firstCheck(store: Store, value: Sealed): Promise<{ value: Sealed }> {
  const stored = await store.change(CHECK, DAEMON, CHECK_ID, (old) => old ?? value)
  return stored ?? { value }
}

/** Reads all keys that a configuration names, the one to encrypt with first. Rejects if the file does not exist. */
export async function readKeys(secrets: SecretKeys): Promise<[Buffer, ...Buffer[]]> {
  const { key, keyFile, oldKeys = [] } = secrets
  const [first, ...others] =
    key === undefined ? keysIn(await fs.readFile(keyFile, 'utf8'), keyFile) : ([parsedKey(key, 'secrets.key')] as const)
  return [first, ...others, ...oldKeys.map((old) => parsedKey(old, 'secrets.old_keys'))]
}

/** Reads the keys as {@link readKeys} does. Creates the file if it is absent and may be created. */
async function configuredKeys(
  secrets: SecretKeys,
  { mayMake, log }: { mayMake: boolean; log: Log },
): Promise<[Buffer, ...Buffer[]]> {
  const { key, keyFile: file, disk = fs } = secrets
  if (key !== undefined) return await readKeys(secrets)
  try {
    const others = (await fs.stat(file)).mode & 0o077
    if (others) log.warn({ event: 'secrets_key_readable_by_others', file })
    // A start that was killed may have created it. Nothing may be sealed with a key that a crash can remove.
    await syncEntry(disk, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (!mayMake)
      throw new Error(`the key file ${file} is missing, and the store holds secrets that only its key opens`, {
        cause: error,
      })
    await makeFolder(disk, dirname(file))
    await writeDurably(disk, file, `${randomBytes(32).toString('hex')}\n`)
  }
  return await readKeys(secrets)
}

/** Reads a key per line, the one to encrypt with first. */
function keysIn(text: string, file: string): [Buffer, ...Buffer[]] {
  const [first = '', ...others] = text.trim().split(/\s*\n\s*/)
  return [parsedKey(first, file), ...others.map((line) => parsedKey(line, file))]
}
