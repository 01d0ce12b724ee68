import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { identityOf, type Head } from './file-head.js'
import type { FilePlace, Stretch } from './line-range.js'

/** A file of a trail that has an end. */
export interface TrailFile extends Stretch {
  /** Device and inode. Undefined before the file was opened. */
  readonly identity?: string | undefined
  readonly head?: Head | undefined
  /** Position at which reading begins, and the end if the file was read completely. */
  readonly begin?: LinePlace | undefined
  readonly end?: LinePlace | undefined
}

type LinePlace = Pick<FilePlace, 'offset' | 'line'>

/**
 * Returns the files of a run that continues an unfinished one. The files of the unfinished run come first, then new
 * ones.
 */
export async function withNewFiles(files: readonly TrailFile[], paths: readonly string[]): Promise<TrailFile[]> {
  const known = new Set(files.map(({ identity }) => identity))
  const names = new Set(files.map(({ path }) => path))
  const added: TrailFile[] = []
  for (const path of paths) {
    const identity = identityOf(await stat(path))
    // A file that was not opened yet is known by its name only.
    if (!known.has(identity) && !names.has(path)) added.push({ path })
  }
  return [...files, ...added]
}

/**
 * Returns the files of a run that continues a finished one. Content added to its files since comes first, then new
 * files.
 */
export async function addedSince(files: readonly TrailFile[], paths: readonly string[]): Promise<TrailFile[]> {
  const found: TrailFile[] = []
  const read = new Set<string>()
  for (const { path, identity, head, end } of files) {
    const now = identity === undefined ? undefined : await findByIdentity(path, identity)
    if (now === undefined || identity === undefined) continue
    read.add(identity)
    found.push({ path: now, identity, head, begin: end })
  }
  for (const path of paths) if (!read.has(identityOf(await stat(path)))) found.push({ path })
  return found
}

/** Returns the name of a file, or its name in the same folder after rotation. Undefined if the file was deleted. */
export async function findByIdentity(path: string, identity: string): Promise<string | undefined> {
  const folder = dirname(path)
  const others = await readdir(folder).catch(() => [])
  for (const candidate of [path, ...others.map((name) => join(folder, name))]) {
    const found = await stat(candidate).catch(() => undefined)
    if (found?.isFile() && identityOf(found) === identity) return candidate
  }
  return undefined
}
