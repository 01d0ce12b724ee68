import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { gzipSync } from 'node:zlib'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
}
/** Types that gzip makes smaller. */
const TEXT = new Set(['.html', '.js', '.css', '.svg', '.json'])

/** One file, ready to be sent. */
export interface StaticFile {
  readonly type: string
  readonly body: Buffer
  /** Returns the compressed body, undefined if gzip does not help. Compresses with the first call. */
  readonly gzip: () => Buffer | undefined
  readonly etag: string
  /** Its name contains a hash of its content. */
  readonly immutable: boolean
}

/** Returns a file with its tag. `path` decides the type. */
function staticFile(path: string, body: Buffer): StaticFile {
  const ending = extname(path)
  let gzipped: Buffer | undefined
  return {
    type: TYPES[ending] ?? 'application/octet-stream',
    body,
    gzip: () => (TEXT.has(ending) ? (gzipped ??= gzipSync(body)) : undefined),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    immutable: /(^|\/)assets\//.test(path),
  }
}

/**
 * Reads a folder with everything below it, by path with `/`. Paths of requests are only looked up in the result, so none
 * can leave the folder. Empty if the folder does not exist.
 */
export function readFolder(folder: string): ReadonlyMap<string, StaticFile> {
  const files = new Map<string, StaticFile>()
  for (const entry of listed(folder)) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    const path = relative(folder, file).split(sep).join('/')
    files.set(path, staticFile(path, readFileSync(file)))
  }
  return files
}

function listed(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
