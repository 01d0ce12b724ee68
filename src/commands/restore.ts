import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import { loadConfig } from '../config/load.js'
import type { Config } from '../config/schema.js'
import { systemClock } from '../core/clock.js'
import { fileFault, messageOf } from '../core/errors.js'
import { silentLog } from '../core/log.js'
import { makeFolder, writeDurably } from '../disk/durable-write.js'
import { openBackup, type Backup } from '../store/backup/read.js'
import { keyId, parsedKey } from '../store/secrets/keyring.js'
import { openBlobs } from '../store/open-blobs.js'
import { restoreStore } from '../store/restore.js'
import { readKeys, secretKeys, type SecretKeys } from '../store/secrets/vault.js'
import { restoreDataFiles } from '../daemon/workers/data-files.js'
import { workerData } from '../daemon/workers/runtime.js'
import { contentsText, dataText, elsewhereLines } from './common/backup-lines.js'
import { configFile, DEFAULT_FILES } from './common/config-file.js'
import { Exit, type DefineCommand } from './common/command.js'

/** `edged restore FILE`: creates the data of a daemon from a backup. */
export const restore: DefineCommand = (command) => {
  command
    .argument('<file>', 'archive from edged backup')
    .option('-c, --config <file>', `configuration file of the daemon, which is stopped (default: ${DEFAULT_FILES})`)
    .option(
      '--data-only',
      'write only D1 databases and Durable Objects, on a machine whose store has its records already',
    )
    .addHelpText(
      'after',
      '\nThe data folder, and Redis if the configuration names one, must be empty. The whole archive is verified before' +
        '\nanything is written. The store may be of another type than the one of the backup.' +
        '\nExit codes: 0 restored, 1 not restored, 2 the configuration cannot be used.',
    )
    .action(async (file: string, { config: path, dataOnly = false }: { config?: string; dataOnly?: boolean }) => {
      const config = loadConfig(configFile(path))
      const backup = await openBackup(file).catch(fail)
      try {
        await (dataOnly ? restoreData(config, backup) : restoreAll(config, backup))
      } catch (error) {
        fail(error)
      } finally {
        await backup.close()
      }
      const { manifest, key } = backup
      const what = dataOnly ? dataText(manifest) : contentsText(manifest, key !== undefined)
      process.stdout.write(`restored ${what}; of ${manifest.created}\n`)
      process.stderr.write(
        elsewhereLines(manifest)
          .map((line) => `${line}\n`)
          .join(''),
      )
    })
}

/** Writes the data of another machine than the one whose backup has the records. */
async function restoreData(config: Config, backup: Backup): Promise<void> {
  const folder = workerData(config)
  const entries = await fs.readdir(folder).catch(() => [])
  if (entries.length > 0)
    throw new Error(`${folder} is not empty; the data of this machine would be mixed with other data`)
  await restoreDataFiles(folder, backup.files())
}

async function restoreAll(config: Config, backup: Backup): Promise<void> {
  const entries = await fs.readdir(config.data).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return []
  })
  const secrets = secretKeys(config)
  const known = await configuredKeys(secrets)
  if (entries.length > 0 && !(known && entries.length === 1 && secrets.keyFile.endsWith(`/${entries[0]}`)))
    throw new Error(`the data folder ${config.data} is not empty; name an empty one as data`)
  const key = checkedKey(backup, known)

  await makeFolder(fs, config.data)
  await restoreStore(config.store, backup, { folder: config.data }, async () => {
    const blobs = await openBlobs(config.store, { folder: config.data, clock: systemClock, log: silentLog })
    try {
      for await (const bytes of backup.blobs()) await blobs.put(bytes)
    } finally {
      await blobs.close()
    }
    await restoreDataFiles(workerData(config), backup.files())
    if (key === undefined) return
    await makeFolder(fs, dirname(secrets.keyFile))
    await writeDurably(fs, secrets.keyFile, `${key}\n`)
  })
}

/** Returns the keys that the configuration or an existing file has. */
async function configuredKeys(secrets: SecretKeys): Promise<readonly Buffer[] | undefined> {
  try {
    return await readKeys(secrets)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

/** Returns the key that must be written. Throws if the secrets of the backup could not be read afterwards. */
function checkedKey({ manifest, key }: Backup, known: readonly Buffer[] | undefined): string | undefined {
  const needed = manifest.key_id
  if (known) {
    const ids = known.map(keyId)
    if (ids.includes(needed)) return undefined
    throw new Error(
      `the configured secret key has id ${ids.join(', ')}, the backup needs ${needed}; configure that key`,
    )
  }
  if (key === undefined) throw new Error(`the backup has no secret key; configure the key with id ${needed}`)
  if (keyId(parsedKey(key, 'secret.key')) !== needed) throw new Error('the key of the backup is not its secret key')
  return key
}

function fail(error: unknown): never {
  const { code, path } = error as NodeJS.ErrnoException
  const reason = code !== undefined && path !== undefined ? `${path}: ${fileFault(error)}` : messageOf(error)
  throw new Exit(1, `nothing can be restored: ${reason}`)
}
