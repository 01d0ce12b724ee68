import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.js'
import { makeFolder, writeDurably } from '../../disk/durable-write.js'
import type { StoreOptions } from '../records/options.js'

/** Kinds that daemons write by themselves at every start or request. A store with nothing else has no data. */
const OWN_KINDS: ReadonlySet<string> = new Set([
  'vault_check',
  'vault_writing_key',
  'vault_machine',
  'vault_rotation_lease',
  'worker_machine',
  'store_identity',
  'token_use',
  'webhook_sender',
  'webhook_lease',
  'webhook_health',
  'logpush_machine',
  'logpush_lease',
  'logpush_stream',
  'failed_attempts',
  'worker_cron_run',
  'cache_invalidation',
  'acme_account',
  'acme_challenge',
  'spent_signature',
])

/** Returns whether a store has records of users. */
export function hasData(rows: Iterable<{ readonly kind: string }>): boolean {
  for (const { kind } of rows) if (!OWN_KINDS.has(kind)) return true
  return false
}

/** File in the data folder with the epoch of the Redis whose data this machine had last. */
const FILE = 'store.epoch'

/** Remembers the data in Redis, so that the machine notices after a restart that all data is gone. */
export class KnownEpoch {
  readonly #path: string | undefined
  readonly #log: StoreOptions['log']
  #epoch: string | undefined

  constructor({ folder, log }: Pick<StoreOptions, 'folder' | 'log'>) {
    this.#path = folder === '' ? undefined : join(folder, FILE)
    this.#log = log
  }

  /** Epoch of the last data with records of users. Undefined if there was no such data. */
  async read(): Promise<string | undefined> {
    if (this.#path === undefined || this.#epoch !== undefined) return this.#epoch
    try {
      this.#epoch = (await fs.readFile(this.#path, 'utf8')).trim()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    return this.#epoch
  }

  is(epoch: string): boolean {
    return this.#epoch === epoch
  }

  async write(epoch: string): Promise<void> {
    if (this.#epoch === epoch) return
    this.#epoch = epoch
    if (this.#path === undefined) return
    try {
      await makeFolder(fs, join(this.#path, '..'))
      await writeDurably(fs, this.#path, `${epoch}\n`, { temporary: `${FILE}.tmp` })
    } catch (error) {
      // Only the check of the next start depends on it.
      this.#log.warn({ event: 'store_epoch_not_written', error: messageOf(error) })
    }
  }
}
