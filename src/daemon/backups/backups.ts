import { timingSafeEqual } from 'node:crypto'
import type { BackupFiles } from '../../store/backup/files.js'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Store } from '../../core/store.js'
import { VERSION } from '../../release/package.js'
import { backupOf } from '../../store/backup/write.js'
import type { Keyring } from '../../store/secrets/keyring.js'
import { resealed } from '../../store/secrets/reseal.js'
import { blobNames, type Collector } from '../../workers/orphan-collector.js'

/** Purpose of the key with which `edged backup` proves that it may read the secrets. */
export const BACKUP_KEY = 'backup'

export interface BackupDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly keys: Keyring
  /** Returns the databases of scripts. */
  readonly data: () => BackupFiles
  /** Deletes blobs that a record of the backup may name, unless it is held. */
  readonly collector: Pick<Collector, 'hold'>
  readonly clock: Clock
  readonly log: Log
}

/** A backup, or the reason why there is none with the status of the response. */
export type BackupResponse = AsyncIterable<Uint8Array> | { readonly status: number; readonly reason: string }

/** Another backup is being written. */
export class BackupRunning extends Error {
  override readonly name = 'BackupRunning'

  constructor() {
    super('another backup is being written')
  }
}

/** Writes backups of the running daemon, one at a time. */
export class Backups {
  readonly #deps: BackupDeps
  readonly #tokens: readonly Buffer[]
  #isRunning = false

  constructor(deps: BackupDeps) {
    this.#deps = deps
    this.#tokens = deps.keys.deriveAll(BACKUP_KEY).map((key) => Buffer.from(`Bearer ${key.toString('hex')}`))
  }

  /** Responds to `edged backup`, for callers that have the secret key. */
  respond(authorization: string | undefined, withKey: boolean): BackupResponse {
    const given = Buffer.from(authorization ?? '')
    if (!this.#tokens.some((token) => given.length === token.length && timingSafeEqual(given, token)))
      return { status: 403, reason: 'the secret key of edged backup differs from the key of the daemon' }
    if (this.#isRunning) return { status: 409, reason: new BackupRunning().message }
    return this.#logged(withKey)
  }

  /** Yields the bytes of an archive. Throws {@link BackupRunning} if another one is being written. */
  async *archive(withKey: boolean): AsyncGenerator<Uint8Array> {
    if (this.#isRunning) throw new BackupRunning()
    this.#isRunning = true
    const { store, blobs, keys, data, collector, clock } = this.#deps
    const release = await collector.hold()
    try {
      yield* backupOf({
        store,
        // During a rotation secrets have several keys, and a backup has one.
        contentOf: (record) => resealed(record, keys).value,
        blobs,
        blobsOf: async (values) => await blobNames(store, blobs, values),
        data: data(),
        key: { id: keys.id, text: withKey ? keys.text : undefined },
        edged: VERSION,
        clock,
      })
    } finally {
      release()
      this.#isRunning = false
    }
  }

  async *#logged(withKey: boolean): AsyncGenerator<Uint8Array> {
    const { log } = this.#deps
    try {
      yield* this.archive(withKey)
      log.info({ event: 'backup_written' })
    } catch (error) {
      log.error({ event: 'backup_failed', error: messageOf(error) })
      throw error
    }
  }
}
