import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { loadConfig } from '../config/load.js'
import { messageOf } from '../core/errors.js'
import { BACKUP_KEY } from '../daemon/admin/backup.js'
import { writeDurably } from '../disk/durable-write.js'
import { openBackup } from '../store/backup/read.js'
import { Keyring } from '../store/secrets/keyring.js'
import { readKeys, secretKeys } from '../store/secrets/vault.js'
import { configFile } from './common/config-file.js'
import { ADMIN_HELP, streamFromDaemon, type AdminOptions } from './common/admin-client.js'
import { Exit, type DefineCommand } from './common/command.js'

/** `edged backup FILE`: copies store, blobs and key of the running daemon. */
export const backup: DefineCommand = (command) => {
  command
    .argument('<file>', 'archive to write (tar, mode 0600)')
    .option('-c, --config <file>', 'configuration file of the daemon, which names its secret key')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--force', 'replace an existing file, once the new one is complete; without it, asks on a terminal')
    .option('--no-key', 'leave the secret key out; restore then needs it in the configuration')
    .addHelpText(
      'after',
      '\nContains all records of one moment, audit log, uploaded code and files, and the secret key. Does not contain the log' +
        '\nspool, the cache, and the data of Durable Objects and D1, which are files below the data folder.' +
        `${ADMIN_HELP}\nExit codes: 0 written and verified, 1 not written, 2 the configuration cannot be used.`,
    )
    .action(async (file: string, options: AdminOptions & { key: boolean; force?: boolean }) => {
      if (!options.force) await mayReplace(file)
      const config = configFile(options.config)
      const [key] = await readKeys(secretKeys(loadConfig(config))).catch((error: unknown) => {
        throw new Exit(
          1,
          `the secret key cannot be read (${messageOf(error)}); start the daemon first, which creates it, and run the command as its user`,
        )
      })
      const authorization = `Bearer ${new Keyring([key]).derive(BACKUP_KEY).toString('hex')}`
      const archive = await streamFromDaemon(options.key ? '/backup' : '/backup?key=no', authorization, {
        ...options,
        config,
      })
      try {
        await writeDurably(fs, file, archive)
      } catch (error) {
        throw new Exit(1, `${file} was not written: ${messageOf(error)}`)
      }
      const written = await openBackup(file)
      await written.close()
      const { records, audit_entries: audit, blobs } = written.manifest
      const without = written.key === undefined ? ', without the secret key' : ''
      process.stdout.write(`${file}: ${records} records, ${audit} audit entries, ${blobs} blobs${without}\n`)
    })
}

/** Asks before an existing file is replaced. Throws {@link Exit} if the answer is not yes, or if nobody can be asked. */
async function mayReplace(file: string): Promise<void> {
  if (!existsSync(file)) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Exit(1, `${file} exists; name another file, or replace it with --force`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${file} exists. Replace it? [y/N] `).finally(() => terminal.close())
  if (!/^y(es)?$/i.test(answer.trim())) throw new Exit(1, `${file} stays as it is; nothing was written`)
}
