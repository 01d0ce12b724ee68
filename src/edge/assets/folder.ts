import { createHash } from 'node:crypto'
import { open, readFile, realpath, stat, type FileHandle } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { AssetFile, AssetFiles } from '../../workers/assets/files.js'
import type { FolderOptions } from '../exchange/folder-options.js'
import { AssetSite, type AssetDecision, type AssetRequest } from '../../workers/assets/site.js'
import { typeOf, UNTYPED } from '../../workers/assets/types.js'

/** Facts about files are looked up again after this time. */
const FRESH_MS = 1000
const MAX_KNOWN = 10_000
const MAX_RULES_BYTES = 4_300_000
/** Lookups for one request: each form of its address, and 404.html in each folder above. */
const MAX_LOOKUPS = 300

interface Found {
  readonly file: AssetFile | undefined
  readonly at: number
}

/** A file whose existence is not known yet. */
class Unknown extends Error {
  readonly path: string

  constructor(path: string) {
    super(path)
    this.path = path
  }
}

/** The files of one folder, as the static assets of a Worker are served. Changes of files are seen within a second. */
export class FolderSite {
  readonly #options: FolderOptions
  readonly #known = new LRUCache<string, Found>({ max: MAX_KNOWN })
  readonly #paths = new LRUCache<string, string>({ max: MAX_KNOWN })
  #now = 0
  #site: { readonly site: AssetSite; readonly rules: string; readonly at: number } | undefined
  #real: Promise<string> | undefined

  constructor(options: FolderOptions) {
    this.#options = options
  }

  /** Header fields of a response after the rules of `_headers`. */
  headers(host: string, path: string, fields: readonly string[]): readonly string[] {
    return this.#site?.site.headers(host, path, fields) ?? fields
  }

  /** Returns which file is the response to a request. */
  async decide(request: AssetRequest, now: number): Promise<AssetDecision> {
    const site = await this.#current(now)
    for (let lookups = 0; lookups < MAX_LOOKUPS; lookups++) {
      this.#now = now
      try {
        return site.decide(request)
      } catch (error) {
        if (!(error instanceof Unknown)) throw error
        this.#known.set(error.path, { file: await this.#lookUp(error.path), at: now })
      }
    }
    return { kind: 'missing', path: request.target }
  }

  /** Opens a file that was found. Rejects if it has changed or was deleted. */
  async open({ blob, size }: AssetFile): Promise<FileHandle> {
    const path = this.#paths.get(blob)
    if (path === undefined) throw new Error('the file is not known any more')
    const handle = await open(path, 'r')
    const found = await handle.stat({ bigint: true })
    if (found.isFile() && Number(found.size) === size && blobOf(path, found) === blob) return handle
    await handle.close()
    throw new Error('the file changed while it was sent')
  }

  async #current(now: number): Promise<AssetSite> {
    if (this.#site && now - this.#site.at < FRESH_MS) return this.#site.site
    const [headers, redirects] = await Promise.all([this.#text('_headers'), this.#text('_redirects')])
    const rules = JSON.stringify([headers, redirects])
    const site =
      this.#site?.rules === rules
        ? this.#site.site
        : new AssetSite({
            files: this.#files(),
            config: { not_found_handling: '404-page', _headers: headers, _redirects: redirects },
            html: this.#options.html,
            worker: false,
          })
    this.#site = { site, rules, at: now }
    return site
  }

  async #text(name: string): Promise<string> {
    try {
      const path = join(this.#options.folder, name)
      return (await stat(path)).size > MAX_RULES_BYTES ? '' : await readFile(path, 'utf8')
    } catch {
      return ''
    }
  }

  /** Files by path, of which only those that were looked up are known. */
  #files(): AssetFiles {
    const get = (path: string): AssetFile | undefined => {
      const found = this.#known.get(path)
      if (found === undefined || this.#now - found.at >= FRESH_MS) throw new Unknown(path)
      return found.file
    }
    const files: Pick<AssetFiles, 'get' | 'has'> = { get, has: (path) => get(path) !== undefined }
    return files as AssetFiles
  }

  async #lookUp(path: string): Promise<AssetFile | undefined> {
    if (!isServed(path)) return undefined
    try {
      this.#real ??= realpath(this.#options.folder)
      const root = await this.#real.catch((error: unknown) => {
        this.#real = undefined
        throw error
      })
      const place = await realpath(join(root, path))
      // A link can lead outside of the folder.
      if (!place.startsWith(root === sep ? root : root + sep)) return undefined
      const found = await stat(place, { bigint: true })
      if (!found.isFile()) return undefined
      const blob = blobOf(place, found)
      this.#paths.set(blob, place)
      return { blob, size: Number(found.size), type: typeOf(UNTYPED, path) }
    } catch {
      return undefined
    }
  }
}

/** Identifies the contents of a file: another file or another version has another one. */
const blobOf = (path: string, { ino, mtimeNs, size }: { ino: bigint; mtimeNs: bigint; size: bigint }): string =>
  createHash('sha256').update(`${path}\n${ino} ${mtimeNs} ${size}`).digest('hex')

/** Names that configure the folder. */
const RULES: ReadonlySet<string> = new Set(['/_headers', '/_redirects', '/.assetsignore'])

/** Returns whether a decoded path can be a file for clients: no dot files except below /.well-known/, no way out. */
function isServed(path: string): boolean {
  if (path.includes('\0') || path.includes('\\') || path.length > 4096 || RULES.has(path)) return false
  const [first, ...rest] = path.split('/').slice(1)
  const segments = first === '.well-known' ? rest : [first ?? '', ...rest]
  return segments.every((segment) => !segment.startsWith('.'))
}
