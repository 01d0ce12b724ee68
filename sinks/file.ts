import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { Type } from 'typebox'
import { strict } from '../src/core/schema.js'
import { SinkError, type SinkFailure } from '../src/core/sink.js'
import { makeFolder, syncEntry, TEMPORARY, writeDurably, type Disk } from '../src/disk/durable-write.js'
import { reasonOf } from './contract/failure.js'
import { folder, type Folder } from './objects/folder.js'
import { FORMAT, type ObjectFormat } from './objects/format.js'
import { flag, paramReader, pathOf, reject } from './contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from './contract/sink-type.js'

const PARAMS = Type.Object({ gzip: flag('Compress the files.', false), format: FORMAT }, strict)
const read = paramReader(PARAMS)

/**
 * Writes each batch to a file `<name>.log` or `<name>.log.gz` in a local folder, only below the folders that the
 * operator allows. Files are written atomically and durably. If a batch is sent again, its file is replaced. Missing
 * folders are created. A folder that is a symbolic link is rejected.
 */
export const file: SinkType = {
  scheme: 'file',
  form: 'file:///folder/{DATE}',
  summary: 'a file below `logpush.destinations.allow_file_under`',
  params: PARAMS,

  check(destination, deps) {
    placeOf(destination, deps)
  },

  open(destination, deps) {
    const { root, inside, gzip, format } = placeOf(destination, deps)
    const { disk = fs } = deps
    const today = () => new Date(deps.clock.now())
    const end = format ?? (gzip ? 'log.gz' : 'log')
    const keyOf = (name: string, from: Date) => inside.key(`${name}.${end}`, from)

    return {
      encoding: format ?? (gzip ? 'gzip' : 'identity'),
      limits: {},
      daily: inside.daily,

      async write({ name, from, body }, signal) {
        await written(disk, root, keyOf(name, from), body.read(), signal)
      },

      pathOf: (name, from) => join(root, keyOf(name, from)),

      async check(signal) {
        // Jobs of one folder can be checked concurrently.
        const key = inside.key(`.test-${randomBytes(8).toString('hex')}.txt`, today())
        await written(disk, root, key, [Buffer.from(TEST_TEXT)], signal)
        await disk.rm(join(root, key), { force: true })
      },

      async put(name, text, signal) {
        const key = inside.key(name, today())
        await written(disk, root, key, [Buffer.from(text)], signal)
        return join(root, key)
      },

      async close() {},
    }
  },
}

interface Place {
  /** The allowed folder. */
  readonly root: string
  /** The rest of the path, which is created if it is missing. */
  readonly inside: Folder
  readonly gzip: boolean
  readonly format: ObjectFormat
}

function placeOf(destination: URL, deps: SinkDeps): Place {
  if (destination.hostname !== '') reject('has a host; write file:///folder, with three slashes')
  const { gzip = false, format } = read(destination)
  if (gzip && format !== undefined) reject('has gzip=true and format=parquet; Parquet files are compressed inside')
  const path = `/${pathOf(destination)}`
  for (const root of deps.allowFileUnder) {
    const rest = relative(root, path)
    if (rest !== '..' && !rest.startsWith(`..${sep}`)) return { root, inside: folder(rest), gzip, format }
  }
  return reject('is not below a folder of logpush.destinations.allow_file_under')
}

/** Writes a file below `root` by its relative path. Rejects with a SinkError. */
async function written(
  disk: Disk,
  root: string,
  key: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  const path = join(root, key)
  try {
    const folder = await folderBelow(disk, root, dirname(key))
    const name = basename(key)
    // One name for all attempts, so that crashes leave at most one temporary file.
    const temporary = `.${name}${TEMPORARY}`
    await writeDurably(disk, join(folder, name), pieces, { mode: 0o640, temporary, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw failed(path, error)
  }
}

/** Returns the real path of a folder below `root`. Creates the folder and follows no symbolic link on the way. */
async function folderBelow(disk: Disk, root: string, path: string): Promise<string> {
  // The path to the allowed folder belongs to the operator, including symbolic links.
  await makeFolder(disk, root, 0o777)
  let current = await fs.realpath(root)
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue
    const next = join(current, name)
    const isNew = await disk.mkdir(next).then(() => true, existing)
    if (!isNew && !(await fs.lstat(next)).isDirectory()) throw new SinkError('refused', `${next} is not a folder`)
    await syncEntry(disk, next, { isNew })
    current = next
  }
  return current
}

function existing(error: NodeJS.ErrnoException): false {
  if (error.code !== 'EEXIST') throw error
  return false
}

/** Errors that need the operator. All others may be temporary, for example a full disk. */
const TO_MEND: ReadonlySet<string> = new Set([
  'EACCES',
  'EISDIR',
  'ELOOP',
  'ENAMETOOLONG',
  'ENOENT',
  'ENOTDIR',
  'ENOTEMPTY',
  'EPERM',
  'EROFS',
])

function failed(path: string, error: unknown): SinkError {
  if (error instanceof SinkError) return error
  const reason = reasonOf(error)
  const failure: SinkFailure = TO_MEND.has(reason) ? 'refused' : 'transient'
  return new SinkError(failure, `${path} could not be written: ${reason}`, { cause: error })
}
