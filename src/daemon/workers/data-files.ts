import { createHash, createHmac } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { BackupFile, BackupFiles } from '../../store/backup/files.js'
import type { Log } from '../../core/log.js'
import { D1_DATABASES } from '../../core/model/storage.js'
import { WORKER_DATA_HOMES } from '../../core/model/worker-data.js'
import { WORKER_NAMESPACES } from '../../core/model/worker.js'
import { account, type Scope } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { makeFolder, writeDurably } from '../../disk/durable-write.js'
import { readAt } from '../../disk/positioned-io.js'
import { DatabaseCopier } from '../../disk/sqlite/copy.js'
import type { FileInBackup } from '../../store/backup/read.js'
import { D1_NAMESPACE } from '../../workers/runtime/config.js'
import { HOME_FILE } from '../machines/home-file.js'

const CHUNK_BYTES = 1024 * 1024
const ENDING = '.sqlite'
/** Times of alarms of the objects of one namespace, beside the objects. */
const ALARMS = `metadata${ENDING}`
/** The runtime names files after ids of objects. */
const FILE_NAME = /^(?:[0-9a-f]{64}|metadata)\.sqlite$/

export interface DataFilesDeps {
  readonly store: Store
  /** Folder of Durable Object and D1 data, one folder per account. */
  readonly folder: string
  /** Folder for the copy of one database at a time. It is removed afterwards. */
  readonly temporary: string
  /** Whether this machine has the data of an account. */
  readonly isHere: (scope: Scope) => boolean
  /** Runs `work` while no process of an account runs. */
  readonly paused: <T>(scope: Scope, work: () => Promise<T>) => Promise<T>
  readonly log: Log
}

/** Returns the D1 databases and Durable Objects of this machine for a backup, while scripts use them. */
export function dataFiles(deps: DataFilesDeps): BackupFiles {
  const { store, isHere } = deps
  const elsewhere = store.list(WORKER_DATA_HOMES).flatMap(({ scope }) => (isHere(scope) ? [] : [scope.id]))
  return { files: copies(deps), elsewhere }
}

/** Returns the ids of the Durable Objects of a namespace in the folder, in order. */
export async function objectIds(folder: string, scope: Scope, namespace: string): Promise<string[]> {
  const names = await fs.readdir(join(folder, scope.id, namespace)).catch(() => [])
  return names
    .filter((name) => FILE_NAME.test(name) && name !== ALARMS)
    .map((name) => basename(name, ENDING))
    .sort()
}

async function* copies(deps: DataFilesDeps): AsyncGenerator<BackupFile> {
  const { folder, temporary, isHere } = deps
  await fs.rm(temporary, { recursive: true, force: true })
  await makeFolder(fs, temporary)
  const copier = await DatabaseCopier.open(temporary)
  try {
    for (const id of await folders(folder)) {
      const scope = account(id)
      if (isHere(scope)) yield* ofAccount(deps, copier, scope)
    }
  } finally {
    await copier.close()
    await fs.rm(temporary, { recursive: true, force: true })
  }
}

async function* ofAccount(deps: DataFilesDeps, copier: DatabaseCopier, scope: Scope): AsyncGenerator<BackupFile> {
  const place = join(deps.folder, scope.id)
  const home = await fs.readFile(join(place, HOME_FILE)).catch(() => undefined)
  if (home)
    yield {
      path: `${scope.id}/${HOME_FILE}`,
      type: 'home',
      bytes: home.length,
      taken: new Date().toISOString(),
      async *content() {
        yield await Promise.resolve(home)
      },
    }
  for (const namespace of await folders(place)) {
    const titles = titlesOf(deps.store, scope, namespace)
    for await (const { name } of await fs.opendir(join(place, namespace))) {
      if (!FILE_NAME.test(name)) continue
      const copied = await settled(deps, copier, { scope, path: join(place, namespace, name) })
      if (!copied) continue
      const title = titles(name)
      yield {
        path: `${scope.id}/${namespace}/${name}`,
        type: name === ALARMS ? 'alarms' : namespace === D1_NAMESPACE ? 'd1' : 'object',
        bytes: copied.bytes,
        taken: new Date(copied.takenAt).toISOString(),
        ...(title !== undefined && { title }),
        async *content() {
          for (let at = 0; at < copied.bytes; at += CHUNK_BYTES)
            yield await readAt(copied.file, at, Math.min(at + CHUNK_BYTES, copied.bytes))
        },
      }
    }
  }
}

async function settled(
  { paused, log }: DataFilesDeps,
  copier: DatabaseCopier,
  { scope, path }: { readonly scope: Scope; readonly path: string },
) {
  return await copier.copy(path, async (work) => {
    log.warn({ event: 'workers_paused_for_backup', account: scope.id, database: basename(path) })
    return await paused(scope, work)
  })
}

/** Returns a function from the name of a file to a title for people. */
function titlesOf(store: Store, scope: Scope, namespace: string): (file: string) => string | undefined {
  if (namespace !== D1_NAMESPACE) {
    const found = store.get(WORKER_NAMESPACES, scope, namespace)?.value
    return () => found && `${found.class} of ${found.script}`
  }
  const names = new Map(
    store
      .list(D1_DATABASES, scope)
      .map(({ value: { uuid, name } }) => [`${objectId(D1_NAMESPACE, uuid)}${ENDING}`, `${uuid} ${name}`]),
  )
  return (file) => names.get(file)
}

/** Returns the id of the object that has a name, as the runtime derives it. */
function objectId(namespace: string, name: string): string {
  const key = createHash('sha256').update(namespace).digest()
  const half = (of: string | Buffer): Buffer => createHmac('sha256', key).update(of).digest().subarray(0, 16)
  const first = half(name)
  return Buffer.concat([first, half(first)]).toString('hex')
}

/** Writes files of a backup into the folder of Durable Object and D1 data. */
export async function restoreDataFiles(folder: string, files: AsyncIterable<FileInBackup>): Promise<void> {
  for await (const one of files) {
    const file = join(folder, one.path)
    await makeFolder(fs, dirname(file))
    await writeDurably(fs, file, one.content())
  }
}

/** Returns the folders in a folder that may not exist. */
async function folders(path: string): Promise<string[]> {
  const entries = await fs.readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}
