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

const COMPRESSED = /\.(br|gz)$/

/** One file, ready to be sent. */
export interface StaticFile {
  readonly type: string
  readonly body: Buffer
  /** Returns the compressed body, undefined if gzip does not help. Compresses with the first call. */
  readonly gzip: () => Buffer | undefined
  /** Undefined if the build has not written it. */
  readonly brotli: Buffer | undefined
  readonly etag: string
  /** Its name contains a hash of its content. */
  readonly immutable: boolean
}

/** Compressed forms of a file that the build has written. */
interface Compressed {
  readonly gzip?: Buffer | undefined
  readonly brotli?: Buffer | undefined
}

/** Returns a file with its tag and its compressed forms. `path` decides the type. */
function staticFile(path: string, body: Buffer, { gzip, brotli }: Compressed = {}): StaticFile {
  const ending = extname(path)
  let gzipped: Buffer | undefined
  return {
    type: TYPES[ending] ?? 'application/octet-stream',
    body,
    gzip: () => gzip ?? (TEXT.has(ending) ? (gzipped ??= gzipSync(body)) : undefined),
    brotli,
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    immutable: /(^|\/)assets\//.test(path),
  }
}

/**
 * Reads a folder with everything below it, by path with `/`. Paths of requests are only looked up in the result, so none
 * can leave the folder. `FILE.br` and `FILE.gz` are the compressed forms of `FILE`. Empty if the folder does not exist.
 */
export function readFolder(folder: string): ReadonlyMap<string, StaticFile> {
  const bodies = new Map<string, Buffer>()
  for (const entry of listed(folder)) {
    if (!entry.isFile()) continue
    const file = join(entry.parentPath, entry.name)
    bodies.set(relative(folder, file).split(sep).join('/'), readFileSync(file))
  }
  const files = new Map<string, StaticFile>()
  for (const [path, body] of bodies)
    if (!COMPRESSED.test(path))
      files.set(path, staticFile(path, body, { gzip: bodies.get(`${path}.gz`), brotli: bodies.get(`${path}.br`) }))
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
