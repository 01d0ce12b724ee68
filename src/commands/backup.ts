import { existsSync } from 'node:fs'
import * as fs from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { loadConfig } from '../config/load.js'
import { messageOf } from '../core/errors.js'
import { BACKUP_KEY } from '../daemon/backups/backups.js'
import { writeDurably } from '../disk/durable-write.js'
import { openBackup, type Backup } from '../store/backup/read.js'
import { Keyring } from '../store/secrets/keyring.js'
import { readKeys, secretKeys } from '../store/secrets/vault.js'
import { contentsText, elsewhereLines } from './common/backup-lines.js'
import { bytesText } from './common/bytes-text.js'
import { configFile } from './common/config-file.js'
import { ADMIN_HELP, streamFromDaemon, type AdminOptions } from './common/admin-client.js'
import { Exit, type DefineCommand } from './common/command.js'

interface BackupOptions extends AdminOptions {
  readonly key: boolean
  readonly force?: boolean
  readonly list?: boolean
}

/** `edged backup FILE`: copies store, blobs, key and the data of scripts of the running daemon. */
export const backup: DefineCommand = (command) => {
  command
    .argument('<file>', 'archive to write (tar, mode 0600)')
    .option('-c, --config <file>', 'configuration file of the daemon, which names its secret key')
    .option('--admin <address>', 'address of its admin listener, for example 127.0.0.1:9901')
    .option('--force', 'replace an existing file, once the new one is complete; without it, asks on a terminal')
    .option('--no-key', 'leave the secret key out; restore then needs it in the configuration')
    .option('--list', 'verify an existing archive and print its contents; needs no daemon')
    .addHelpText(
      'after',
      '\nContains all records of one moment, audit log, uploaded code and files, the secret key, and each D1 database and' +
        '\nDurable Object as of one moment, while they are in use. Does not contain the log spool and the cache.' +
        `${ADMIN_HELP}\nExit codes: 0 written and verified, 1 not written, 2 the configuration cannot be used.`,
    )
    .action(async (file: string, options: BackupOptions) => {
      if (options.list) return await list(file)
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
        const isCut = (error as NodeJS.ErrnoException).code === 'ECONNRESET'
        const reason = isCut ? 'the daemon ended the archive early; its log has the reason' : messageOf(error)
        throw new Exit(1, `${file} was not written: ${reason}`)
      }
      const written = await opened(file)
      await written.close()
      process.stdout.write(`${await summary(file, written)}\n`)
      process.stderr.write(
        elsewhereLines(written.manifest)
          .map((line) => `${line}\n`)
          .join(''),
      )
    })
}

async function list(file: string): Promise<void> {
  const archive = await opened(file)
  try {
    const { created, edged, kinds = {} } = archive.manifest
    const lines = [
      await summary(file, archive),
      `of ${created}, written by edged ${edged}`,
      ...Object.entries(kinds)
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([kind, count]) => `  ${String(count).padStart(7)} ${kind}`),
      ...elsewhereLines(archive.manifest),
    ]
    process.stdout.write(`${lines.join('\n')}\n`)
    for await (const { type, path, bytes, taken, title = '' } of archive.files())
      if (type !== 'home')
        process.stdout.write(
          `  ${type.padEnd(6)} ${bytesText(bytes).padStart(9)} ${taken} ${path} ${title}`.trimEnd() + '\n',
        )
  } finally {
    await archive.close()
  }
}

async function opened(file: string): Promise<Backup> {
  return await openBackup(file).catch((error: unknown) => {
    throw new Exit(1, messageOf(error))
  })
}

async function summary(file: string, { manifest, key }: Backup): Promise<string> {
  const { size } = await fs.stat(file)
  return `${file} (${bytesText(size)}): ${contentsText(manifest, key !== undefined)}`
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
