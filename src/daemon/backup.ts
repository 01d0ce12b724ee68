import { timingSafeEqual } from 'node:crypto'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { Log } from '../core/log.js'
import type { Store } from '../core/store.js'
import { VERSION } from '../package.js'
import { backupOf } from '../store/backup/write.js'
import { keyId, type Keyring } from '../store/keyring.js'
import { readKey, type SecretKeys } from '../store/vault.js'
import { blobNames } from '../workers/orphan-collector.js'

/** Purpose of the key with which `edged backup` proves that it may read the secrets. */
export const BACKUP_KEY = 'backup'

export interface BackupDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly keys: Keyring
  readonly secrets: SecretKeys
  readonly clock: Clock
  readonly log: Log
}

/** A backup, or the reason why there is none with the status of the response. */
export type BackupResponse = AsyncIterable<Uint8Array> | { readonly status: number; readonly reason: string }

/** Creates the function that responds to `edged backup`: one backup at a time, for callers that have the secret key. */
export function backups(
  deps: BackupDeps,
): (authorization: string | undefined, withKey: boolean) => Promise<BackupResponse> {
  const { store, blobs, keys, secrets, clock, log } = deps
  const token = Buffer.from(`Bearer ${keys.derive(BACKUP_KEY).toString('hex')}`)
  let isRunning = false

  async function* once(text: string | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* backupOf({
        store,
        blobs,
        blobsOf: async (values) => await blobNames(store, blobs, values),
        key: { id: keys.id, text },
        edged: VERSION,
        clock,
      })
      log.info({ event: 'backup_written' })
    } finally {
      isRunning = false
    }
  }

  return async (authorization, withKey) => {
    const given = Buffer.from(authorization ?? '')
    if (given.length !== token.length || !timingSafeEqual(given, token))
      return { status: 403, reason: 'the secret key of edged backup is not that of the daemon' }
    if (isRunning) return { status: 409, reason: 'another backup is being written' }
    isRunning = true
    try {
      const key = withKey ? await readKey(secrets) : undefined
      if (key && keyId(key) !== keys.id) throw new Error('the secret key was changed since the daemon started')
      return once(key?.toString('hex'))
    } catch (error) {
      isRunning = false
      throw error
    }
  }
}
