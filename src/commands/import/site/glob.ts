import { readdirSync, existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

/** Entries of one folder that are looked at. */
const MAX_ENTRIES = 100_000

/** Returns the paths that match a pattern with `*`, `?` and `[...]`, sorted. Names that begin with a dot need a pattern with one. */
export function expanded(pattern: string): string[] {
  const segments = pattern.split('/').filter((segment) => segment !== '')
  let found = [isAbsolute(pattern) ? '/' : '.']
  for (const segment of segments) {
    if (!/[*?[]/.test(segment)) {
      found = found.map((folder) => join(folder, segment)).filter((path) => existsSync(path))
      continue
    }
    const name = globPattern(segment)
    found = found.flatMap((folder) =>
      entriesOf(folder)
        .filter((entry) => (segment.startsWith('.') || !entry.startsWith('.')) && name.test(entry))
        .toSorted()
        .map((entry) => join(folder, entry)),
    )
  }
  return found
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, MAX_ENTRIES)
  } catch {
    return []
  }
}

function globPattern(segment: string): RegExp {
  const source = segment.replaceAll(/\[[^\]]+\]|[*?]|[.+^${}()|\\[\]]/g, (found) => {
    if (found === '*') return '.*'
    if (found === '?') return '.'
    if (found.length > 1) return `[${found.slice(1, -1).replace(/^!/, '^').replaceAll('\\', '\\\\')}]`
    return `\\${found}`
  })
  return new RegExp(`^${source}$`, 's')
}
