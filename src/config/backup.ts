import { statSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'
import { Type, type Static } from 'typebox'
import type { Issue } from '../core/errors.js'
import { strict } from '../core/schema.js'
import { Duration } from './units.js'

/** A shorter period than the time that a backup takes would only write backups. */
const MIN_EVERY_MS = 60_000
const MAX_EVERY_MS = 366 * 86_400_000

/** Section `backup`. */
export const Backup = Type.Object(
  {
    every: Duration('24h', 'Time from one backup to the next, from 1m. The first one is written at once.'),
    to: Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Folder of the backups, outside of data, or s3://BUCKET/FOLDER with region, endpoint, access-key-id and secret-access-key as destinations of log push have them. A server of your own is allowed.',
      examples: ['./backups'],
    }),
    keep: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 7,
      description: 'Number of backups that are kept. The oldest are deleted after a new one is written and verified.',
    }),
    with_key: Type.Boolean({
      default: true,
      description: 'Include the secret key. Without it a restore needs the key in its configuration.',
    }),
  },
  {
    ...strict,
    description:
      'Scheduled backups: what `edged backup` writes, by the daemon itself. With the same Redis, each machine writes files of its own. null or absent: none.',
  },
)
export type BackupConfig = Static<typeof Backup>

/** Whether backups go to a bucket. */
export const isBucket = ({ to }: Pick<BackupConfig, 'to'>): boolean => /^s3:/i.test(to)

/** Makes the folder absolute. */
export function absoluteBackup(backup: BackupConfig, folder: string): BackupConfig {
  return isBucket(backup) || hasScheme(backup) ? backup : { ...backup, to: resolve(folder, backup.to) }
}

const hasScheme = ({ to }: BackupConfig): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(to)

/** Returns issues that the schema cannot express. `destination` returns the issue with a bucket. */
export function backupIssues(
  backup: BackupConfig,
  data: string,
  destination: (text: string) => string | undefined,
): Issue[] {
  const to = toIssue(backup, data, destination)
  const everyIsOff = !(backup.every >= MIN_EVERY_MS && backup.every <= MAX_EVERY_MS)
  return [
    ...(everyIsOff ? [{ pointer: '/backup/every', message: 'must be from 1m to 366d' }] : []),
    ...(to === undefined ? [] : [{ pointer: '/backup/to', message: to }]),
  ]
}

function toIssue(
  backup: BackupConfig,
  data: string,
  destination: (text: string) => string | undefined,
): string | undefined {
  const { to } = backup
  if (isBucket(backup)) {
    if (to.includes('{')) return 'must not have a placeholder, because old backups are searched there'
    return destination(to)
  }
  if (hasScheme(backup)) return 'must be a folder or s3://BUCKET/FOLDER'
  const within = relative(data, to)
  if (within === '' || (!within.startsWith('..') && !isAbsolute(within)))
    return `is inside the data folder ${data}; name a folder outside of it, best on another disk`
  const found = statSync(to, { throwIfNoEntry: false })
  return found && !found.isDirectory() ? `is not a folder: ${to}` : undefined
}
