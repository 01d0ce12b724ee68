/**
 * Finds files to follow. These are new files, files that got a name by rotation, and the current location of a content
 * whose file was renamed, copied or compressed. It runs independently of reading, so a slow destination does not make
 * it miss a file.
 */
import { open, readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { glob } from 'tinyglobby'
import type { Clock } from '../../../src/core/clock.js'
import { gunzippedHead, hasHead, headOf, identityOf, readHead, type Head } from './file-head.js'
import { InputGone } from './file-trail.js'
import { Generation, type StoredGeneration } from './generation.js'
import { isArray, isGzip, markLength } from '../lines/ndjson.js'

export interface FollowOptions {
  /** Absolute paths and globs. */
  readonly patterns: readonly string[]
  /** The lines are not JSON. */
  readonly isText: boolean
  readonly clock: Clock
  /** Called once with a path that does not exist. */
  readonly missing: (path: string) => void
  /** Called for each content with possibly lost records. */
  readonly lost: (path: string, message: string) => void
}

/** A file to skip, with device and inode, and its beginning. */
type Known = readonly [identity: string, head: Head]

export interface FollowedState {
  readonly generations: readonly StoredGeneration[]
  readonly known: readonly Known[]
}

const GLOB = /[*?[{(]/
/** Number of scans per expansion of globs, as folders can be large. */
const GLOB_LOOKS = 4
/**
 * Number of scans before a file that begins like a followed one is read as a separate file. If the followed file is
 * truncated by then, the other file is its copy.
 */
const COPY_LOOKS = 6
/** Maximum open files. Further ones are opened when they are read. */
const MAX_OPEN = 512
const MAX_KNOWN = 4096

export class FollowedFiles {
  /** Generations of an earlier run, in the order of its state. */
  readonly restored: readonly Generation[]
  readonly #options: FollowOptions
  #generations: Generation[]
  /** The generation that a name has now. */
  readonly #current = new Map<string, Generation>()
  readonly #known: Map<string, Head>
  /** Files that may be copies, and how often they were seen. */
  readonly #suspects = new Map<string, number>()
  #looks = 0
  #reportedMissing = false

  private constructor(options: FollowOptions, { generations, known }: FollowedState) {
    this.#options = options
    const now = options.clock.monotonic()
    this.restored = generations.map((stored) => Generation.restored(stored, now))
    this.#generations = [...this.restored]
    this.#known = new Map(known)
  }

  /** Finds the files, including the files of an earlier run at their current location. */
  static async open(options: FollowOptions, stored?: FollowedState): Promise<FollowedFiles> {
    const files = new FollowedFiles(options, stored ?? { generations: [], known: [] })
    if (stored !== undefined) await files.#find()
    await files.look({ all: true })
    if (stored === undefined) for (const path of files.#current.keys()) await files.#ignoreSiblings(path)
    return files
  }

  /** In the order in which they were found. */
  get generations(): readonly Generation[] {
    return this.#generations
  }

  get state(): FollowedState {
    return { generations: this.#generations.map((generation) => generation.stored), known: [...this.#known] }
  }

  /** Searches new files and checks followed ones. `all` expands globs too. */
  async look({ all = false } = {}): Promise<void> {
    const { patterns } = this.#options
    const expand = all || this.#looks++ % GLOB_LOOKS === 0
    const paths = new Set<string>()
    for (const pattern of patterns) {
      if (!GLOB.test(pattern)) paths.add(pattern)
      else if (expand)
        for (const path of (await glob(pattern, { absolute: true, expandDirectories: false })).sort()) paths.add(path)
    }
    for (const path of this.#current.keys()) paths.add(path)
    for (const path of paths) await this.#lookAt(path, expand)
    if (this.#current.size === 0 && !this.#reportedMissing) {
      this.#reportedMissing = true
      this.#options.missing(patterns.join(', '))
    }
  }

  /** Opens the content of a generation if it is not open. False if it cannot be found. */
  async ensure(generation: Generation): Promise<boolean> {
    if (generation.handle !== undefined) return true
    if (generation.lost) return false
    const path = await this.#whereIs(generation)
    if (path !== undefined) {
      const handle = await open(path, 'r')
      generation.handle = handle
      generation.identity = identityOf(await handle.stat())
      return true
    }
    const isRead = generation.rotatedAt !== undefined && generation.offset >= generation.size
    if (isRead) generation.done = true
    else this.#lose(generation, 'was deleted, or compressed, before all of its records were delivered')
    return false
  }

  /** Continues a generation whose file has another content now, in a copy of the old content if one exists. */
  async truncated(generation: Generation): Promise<void> {
    const now = this.#now()
    const begin = generation.handle === undefined ? new Uint8Array(0) : await readHead(generation.handle)
    const copy = generation.head.bytes > 0 ? await this.#copyOf(generation) : undefined
    const next = generation.renewed(now, begin)
    const at = this.#generations.indexOf(generation)
    this.#generations.splice(at + 1, 0, next)
    if (this.#current.get(generation.path) === generation) this.#current.set(generation.path, next)
    generation.rotatedAt = now
    if (copy === undefined) {
      this.#lose(generation, 'was truncated; records that it had since it was last read may be lost')
      return
    }
    const { handle } = copy
    generation.handle = handle
    generation.identity = copy.identity
    generation.emptyAt = -1
  }

  /** Closes generations that are no longer needed. `needed` has positions that may be read again. */
  async forget(needed: ReadonlySet<Generation>): Promise<void> {
    const current = new Set(this.#current.values())
    for (const generation of this.#generations) {
      if (!generation.done || needed.has(generation) || current.has(generation)) continue
      if (!generation.lost) this.#know(generation.identity, generation.head)
      await generation.close()
    }
    this.#generations = this.#generations.filter(
      (generation) => !generation.done || needed.has(generation) || current.has(generation),
    )
  }

  async close(): Promise<void> {
    for (const generation of this.#generations) await generation.close()
  }

  #now(): number {
    return this.#options.clock.monotonic()
  }

  /** Checks a path. `closely` searches again for files whose name was missing for a short time. */
  async #lookAt(path: string, closely: boolean): Promise<void> {
    const now = this.#now()
    const found = await stat(path).catch(() => undefined)
    const current = this.#current.get(path)
    if (found === undefined) {
      if (current === undefined) return
      const isNews = current.rotatedAt === undefined
      current.rotatedAt ??= now
      if (isNews || closely) await this.#adoptMissed(path)
      return
    }
    if (!found.isFile()) return
    const identity = identityOf(found)
    if (current?.identity === identity) {
      current.rotatedAt = undefined
      if (await current.changed(now)) await this.truncated(current)
      return
    }
    if (this.#generations.some((one) => one.identity === identity && one.handle !== undefined)) {
      // A followed file under another name that the glob has as well.
      if (current !== undefined) current.rotatedAt ??= now
      return
    }
    await this.#adopt(path, current)
  }

  /** Follows the file that a name has now. */
  async #adopt(path: string, current: Generation | undefined): Promise<void> {
    const opened = await Generation.open(path, this.#now()).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    if (opened === undefined) return
    const { generation, begin } = opened
    if (this.#isKnown(generation.identity, begin) || this.#mayBeCopy(generation, begin)) return await generation.close()
    if (isGzip(begin) || (!this.#options.isText && isArray(begin)) || markLength(begin) > 0) {
      await generation.close()
      if (this.#options.patterns.includes(path))
        throw new InputGone(`${path} cannot be followed: it is not a plain file of lines`)
      this.#know(generation.identity, generation.head)
      return
    }
    if (current !== undefined) {
      current.rotatedAt ??= this.#now()
      await this.#adoptMissed(path)
    }
    this.#add(generation)
    this.#current.set(path, generation)
    if (this.#generations.filter(({ handle }) => handle !== undefined).length > MAX_OPEN && current !== undefined)
      await this.#spare()
  }

  /** Closes a rotated file that is not read next. It is found again by its identity. */
  async #spare(): Promise<void> {
    const waiting = this.#generations.findLast(({ rotatedAt, handle, offset, done }) => {
      return rotatedAt !== undefined && handle !== undefined && offset === 0 && !done
    })
    await waiting?.close()
  }

  #add(generation: Generation): void {
    this.#generations.push(generation)
  }

  #mayBeCopy({ identity, head, path }: Generation, begin: Uint8Array): boolean {
    const original = this.#generations.some(
      (one) => one.head.bytes > 0 && one.identity !== identity && one.path !== path && hasHead(begin, one.head),
    )
    const key = `${identity} ${head.hash}`
    const seen = (this.#suspects.get(key) ?? 0) + 1
    const wait = original && seen <= COPY_LOOKS
    if (wait) this.#suspects.set(key, seen)
    else this.#suspects.delete(key)
    return wait
  }

  /**
   * Returns names in the folder of a path that rotation creates, such as `app.log.1`, `app.log-20261121` and
   * `app-1.log`.
   */
  async #siblings(path: string): Promise<string[]> {
    const folder = dirname(path)
    const name = basename(path)
    const end = extname(name)
    const stem = name.slice(0, name.length - end.length)
    const names = await readdir(folder).catch(() => [])
    return names
      .filter((other) => {
        if (other === name) return false
        if (other.startsWith(`${name}.`) || other.startsWith(`${name}-`)) return true
        return end !== '' && /^[.-]/.test(other.slice(stem.length)) && other.startsWith(stem) && other.includes(end)
      })
      .map((other) => join(folder, other))
      .filter((other) => !this.#current.has(other))
  }

  /** Marks the siblings of a newly followed file as known. They existed before. */
  async #ignoreSiblings(path: string): Promise<void> {
    for (const sibling of await this.#siblings(path)) {
      const begun = await beginOf(sibling)
      if (begun !== undefined) this.#know(begun.identity, headOf(begun.begin))
    }
  }

  /** Follows files that had the name for so short a time that they were never seen under it, in their order. */
  async #adoptMissed(path: string): Promise<void> {
    const found: { path: string; mtimeMs: number }[] = []
    for (const sibling of await this.#siblings(path)) {
      const begun = await beginOf(sibling)
      if (begun === undefined || begun.begin.length === 0) continue
      const { begin, identity, mtimeMs } = begun
      if (this.#isKnown(identity, begin) || this.#generations.some((one) => this.#is(one, identity, begin))) continue
      if (isGzip(begin)) {
        const content = await gunzippedHead(sibling)
        this.#know(identity, headOf(begin))
        if (content !== undefined && this.#isSeen(content)) continue
        this.#options.lost(sibling, 'was compressed before it was read; its records may be lost')
      } else if (/\.(zst|xz|bz2|lz4|tmp)$/.test(sibling)) this.#know(identity, headOf(begin))
      else if (this.#isSeen(begin)) this.#know(identity, headOf(begin))
      else found.push({ path: sibling, mtimeMs })
    }
    for (const { path: missed } of found.sort((a, b) => a.mtimeMs - b.mtimeMs)) {
      const opened = await Generation.open(missed, this.#now()).catch(() => undefined)
      if (opened === undefined) continue
      opened.generation.rotatedAt = this.#now()
      this.#add(opened.generation)
    }
  }

  #is({ identity, head }: Generation, other: string, begin: Uint8Array): boolean {
    return identity === other && hasHead(begin, head)
  }

  /** Returns whether a content was followed, in any file. */
  #isSeen(begin: Uint8Array): boolean {
    const seen = (head: Head) => head.bytes > 0 && hasHead(begin, head)
    return this.#generations.some(({ head }) => seen(head)) || [...this.#known.values()].some(seen)
  }

  #know(identity: string, head: Head): void {
    this.#known.delete(identity)
    this.#known.set(identity, head)
    if (this.#known.size > MAX_KNOWN) this.#known.delete(this.#known.keys().next().value!)
  }

  #isKnown(identity: string, begin: Uint8Array): boolean {
    const head = this.#known.get(identity)
    if (head === undefined) return false
    if (head.bytes > 0 && hasHead(begin, head)) return true
    // The inode belongs to another file by now.
    this.#known.delete(identity)
    return false
  }

  /** Where files of an earlier run are now. */
  async #find(): Promise<void> {
    for (const generation of this.#generations.slice()) {
      if (generation.done) continue
      const found = await this.ensure(generation)
      if (found && generation.rotatedAt === undefined) this.#current.set(generation.path, generation)
    }
    for (const path of new Set(this.#generations.map(({ path }) => path))) await this.#adoptMissed(path)
  }

  /** The name of the file that has the content of a generation. */
  async #whereIs(generation: Generation): Promise<string | undefined> {
    const { path, identity, head } = generation
    const paths = [path, ...(await this.#siblings(path))]
    for (const [exact, candidates] of [
      [true, paths],
      [false, paths],
    ] as const) {
      for (const candidate of candidates) {
        const begun = await beginOf(candidate)
        if (begun === undefined || (exact && begun.identity !== identity)) continue
        if (!exact && head.bytes === 0) continue
        if (hasHead(begun.begin, head) && begun.size >= generation.offset) return candidate
      }
    }
    return undefined
  }

  /** Opens the copy of a content that was created before its file was truncated. */
  async #copyOf(generation: Generation) {
    for (const sibling of await this.#siblings(generation.path)) {
      const begun = await beginOf(sibling)
      if (begun === undefined || begun.identity === generation.identity) continue
      if (begun.size < generation.offset || !hasHead(begun.begin, generation.head)) continue
      const handle = await open(sibling, 'r').catch(() => undefined)
      if (handle !== undefined) return { handle, identity: begun.identity }
    }
    return undefined
  }

  #lose(generation: Generation, message: string): void {
    generation.lost = true
    generation.done = true
    this.#options.lost(generation.path, message)
  }
}

interface Begun {
  readonly begin: Uint8Array
  readonly identity: string
  readonly size: number
  readonly mtimeMs: number
}

/** Returns the beginning of a file and its identity. Undefined if it cannot be opened. */
async function beginOf(path: string): Promise<Begun | undefined> {
  const handle = await open(path, 'r').catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const found = await handle.stat()
    if (!found.isFile()) return undefined
    return { begin: await readHead(handle), identity: identityOf(found), size: found.size, mtimeMs: found.mtimeMs }
  } finally {
    await handle.close()
  }
}
