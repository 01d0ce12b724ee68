import { stat } from 'node:fs/promises'
import { glob } from 'tinyglobby'

/** A source names files that are not there. */
export class NoInput extends Error {
  override readonly name = 'NoInput'
}

/**
 * Returns the files that paths and globs name, in their order. Files of one glob are sorted by name. Each file is
 * returned once. Rejects with {@link NoInput} if a file does not exist, or if globs match no file at all.
 */
export async function inputPaths(patterns: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  for (const pattern of patterns) {
    const plain = await stat(pattern).catch(() => undefined)
    if (plain?.isDirectory()) throw new NoInput(`${pattern} is a folder; ${pattern}/* names its files`)
    const paths = plain === undefined ? await glob(pattern, { absolute: true, expandDirectories: false }) : [pattern]
    if (paths.length === 0 && !GLOB.test(pattern)) throw new NoInput(`no such file: ${pattern}`)
    for (const path of paths.sort()) found.add(path)
  }
  if (found.size === 0) throw new NoInput(`no such file: ${patterns.join(' or ')}`)
  return [...found]
}

const GLOB = /[*?[{(]/

/** Bytes on disk of all files together. */
export async function totalSize(paths: readonly string[]): Promise<number> {
  let total = 0
  for (const path of paths) total += (await stat(path)).size
  return total
}
