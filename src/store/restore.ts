import type { StoreOptions } from './records/options.js'
import type { Backup } from './backup/read.js'
import { importLevel } from './level/import.js'
import { importRedis } from './redis/import.js'

/**
 * Writes the records and audit entries of a backup into an empty store. Rejects, and changes nothing, if it is not
 * empty. `first` runs after that check, because the store must be complete only after everything else is.
 */
export async function restoreStore(
  url: string,
  backup: Backup,
  options: Pick<StoreOptions, 'folder' | 'disk'>,
  first: () => Promise<void>,
): Promise<void> {
  if (url === 'embedded') {
    await first()
    await importLevel(options, backup)
  } else if (url.startsWith('redis')) await importRedis(url, backup, first)
  else throw new Error(`a backup can be restored into an embedded store or Redis, not into ${url}`)
}
