import * as fs from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Disk } from '../../src/disk/durable-write.js'

const failure = (code: string) => Object.assign(new Error(`${code}: injected by the test`), { code })

/** A file: its content after a loss of power. */
interface Inode {
  path: string
  synced: Buffer
  /** Ranges of bytes that a failed sync dropped. Another sync skips them until they are written again. */
  dropped: [from: number, to: number][]
  /** Ranges of bytes that were written since the last sync. */
  written: [from: number, to: number][]
}
type Entry = Inode | 'folder'

/** A change of the entries of a folder that is not durable yet. */
interface Change {
  readonly path: string
  /** Makes it durable. */
  readonly apply: () => void
  /** Reverts it on the real disk, if restoring the files is not enough. */
  readonly revert?: () => Promise<void>
}

/**
 * The real file system with injected failures, and with a model of the state after a loss of power: the content of each
 * file at its last sync, and the entries of each folder at the folder's last sync. So a file that was created, renamed
 * or removed in a folder that was not synced afterwards is lost, has its old name, or exists again.
 */
export class FaultyDisk {
  /** Writes accept at most this number of bytes. */
  shortWrites: number | undefined
  /** Every write fails, after half of its first chunk is on the disk. */
  failWrites: 'ENOSPC' | undefined
  failSyncs: 'EIO' | undefined
  failTruncates: 'EIO' | undefined
  failReads: 'EIO' | undefined
  reads = 0
  #stopped = false
  /** Entries that this disk created or opened for writing, as the process sees them. */
  readonly #current = new Map<string, Entry>()
  readonly #durable = new Map<string, Entry>()
  /** Folders that did not exist before. */
  readonly #created = new Set<string>()
  /** Changes that are not durable, by folder. */
  readonly #pending = new Map<string, Change[]>()

  readonly disk: Disk = {
    ...fs,
    open: async (path, flags, mode) => await this.#open(resolve(String(path)), String(flags ?? 'r'), mode),
    rename: async (from, to) => await this.#rename(resolve(String(from)), resolve(String(to))),
    rm: async (path, options) => await this.#rm(resolve(String(path)), options),
    mkdir: (async (path: string, options?: { recursive?: boolean }) => {
      this.#check()
      const first = await fs.mkdir(path, options)
      const created = options?.recursive === true ? first : path
      if (created !== undefined) this.#foldersMade(resolve(created), resolve(path))
      return first
    }) as Disk['mkdir'],
  }

  /** A process begins after the one before was stopped. The changes of that one are in memory, durable or not. */
  restart(): void {
    this.#stopped = false
  }

  /** Prevents all further changes by the process on this disk. */
  stop(): void {
    this.#stopped = true
  }

  /** Reverts the disk to its state after a loss of power. `survives` decides on changes of folders not synced. */
  async losePower(survives: (path: string) => boolean = () => false): Promise<void> {
    this.stop()
    const lost: Change[] = []
    for (const change of [...this.#pending.values()].flat()) {
      if (survives(change.path)) change.apply()
      else lost.push(change)
    }
    for (const change of lost.toReversed()) await change.revert?.()
    for (const path of this.#current.keys())
      if (!this.#remains(path)) await fs.rm(path, { recursive: true, force: true })
    for (const [path, entry] of this.#durable) {
      if (!this.#remains(path)) continue
      if (entry === 'folder') await fs.mkdir(path, { recursive: true })
      else await fs.writeFile(path, entry.synced)
    }
  }

  /** Returns whether an entry remains: it is durable, and so is each folder on its path. */
  #remains(path: string): boolean {
    if (!this.#durable.has(path)) return false
    for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder))
      if (this.#created.has(folder) && !this.#durable.has(folder)) return false
    return true
  }

  #check(): void {
    if (this.#stopped) throw failure('EROFS')
  }

  #changed(change: Change): void {
    const folder = dirname(change.path)
    const changes = this.#pending.get(folder)
    if (changes) changes.push(change)
    else this.#pending.set(folder, [change])
  }

  #foldersMade(first: string, last: string): void {
    for (let path = last; path.length >= first.length; path = dirname(path)) {
      const made = path
      this.#created.add(made)
      this.#current.set(made, 'folder')
      this.#changed({ path: made, apply: () => this.#durable.set(made, 'folder') })
    }
  }

  async #open(path: string, flags: string, mode: Parameters<Disk['open']>[2]): Promise<FileHandle> {
    if (flags === 'r') {
      const file = await fs.open(path, flags)
      return (await file.stat()).isDirectory() ? this.#folder(file, path) : this.#file(file, this.#inode(path))
    }
    this.#check()
    const before = await fs.readFile(path).catch(() => undefined)
    const file = await fs.open(path, flags, mode)
    const inode = this.#inode(path) ?? inodeOf(path, before)
    if (!this.#current.has(path)) {
      this.#current.set(path, inode)
      if (before !== undefined) this.#durable.set(path, inode)
      else this.#changed({ path, apply: () => this.#durable.set(path, inode) })
    }
    return this.#file(file, inode)
  }

  #inode(path: string): Inode | undefined {
    const entry = this.#current.get(path)
    return entry === 'folder' ? undefined : entry
  }

  async #rename(from: string, to: string): Promise<void> {
    this.#check()
    if (dirname(from) !== dirname(to)) throw new Error('the model has no rename from one folder to another')
    const before = await fs.readFile(to).catch(() => undefined)
    if (before !== undefined && !this.#current.has(to)) this.#durable.set(to, inodeOf(to, before))
    await fs.rename(from, to)
    move(this.#current, from, to)
    const entry = this.#current.get(to)
    if (entry !== undefined && entry !== 'folder') entry.path = to
    if (this.#created.delete(from)) this.#created.add(to)
    this.#changed({
      path: to,
      apply: () => {
        move(this.#durable, from, to)
        if (entry !== undefined) this.#durable.set(to, entry)
      },
      ...(entry === 'folder' && { revert: async () => await fs.rename(to, from) }),
    })
  }

  async #rm(path: string, options: Parameters<Disk['rm']>[1]): Promise<void> {
    this.#check()
    const before = await fs.readFile(path).catch(() => undefined)
    await fs.rm(path, options)
    if (before === undefined && !this.#current.has(path)) return
    if (before !== undefined && !this.#current.has(path)) this.#durable.set(path, inodeOf(path, before))
    for (const name of under(this.#current, path)) this.#current.delete(name)
    this.#changed({
      path,
      apply: () => {
        for (const name of under(this.#durable, path)) this.#durable.delete(name)
      },
    })
  }

  #folder(file: FileHandle, path: string): FileHandle {
    return withOwn(file, {
      sync: async () => {
        this.#check()
        if (this.failSyncs !== undefined) throw failure(this.failSyncs)
        for (const change of this.#pending.get(path) ?? []) change.apply()
        this.#pending.delete(path)
      },
    })
  }

  #file(file: FileHandle, inode: Inode | undefined): FileHandle {
    const sync = async () => {
      this.#check()
      if (this.failSyncs !== undefined) {
        inode?.dropped.push(...inode.written.splice(0))
        throw failure(this.failSyncs)
      }
      if (inode) await syncInode(inode)
    }
    return withOwn(file, {
      datasync: sync,
      sync,
      truncate: async (length: number) => {
        this.#check()
        if (this.failTruncates !== undefined) throw failure(this.failTruncates)
        await file.truncate(length)
      },
      writeFile: async (data: string) => {
        this.#check()
        if (this.failWrites !== undefined) throw failure(this.failWrites)
        await file.writeFile(data)
      },
      writev: async (pieces: Buffer[], position: number) => {
        this.#check()
        const [first] = pieces
        const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
        inode?.written.push([position, position + length])
        if (this.failWrites !== undefined) {
          await file.writev([first!.subarray(0, first!.length / 2)], position)
          throw failure(this.failWrites)
        }
        if (this.shortWrites === undefined) return await file.writev(pieces, position)
        return await file.writev([first!.subarray(0, this.shortWrites)], position)
      },
      read: async (...args: Parameters<FileHandle['read']>) => {
        this.reads++
        if (this.failReads !== undefined) throw failure(this.failReads)
        return await file.read(...args)
      },
    })
  }
}

const inodeOf = (path: string, content: Buffer = Buffer.alloc(0)): Inode => ({
  path,
  synced: content,
  dropped: [],
  written: [],
})

/** Makes the content durable, except bytes that an earlier sync dropped and that were not written since. */
async function syncInode(inode: Inode): Promise<void> {
  const content = await fs.readFile(inode.path)
  const before = inode.synced
  inode.dropped = inode.dropped.flatMap((range) => remaining(range, inode.written, content.length))
  inode.written = []
  inode.synced = Buffer.from(content)
  for (const [from, to] of inode.dropped) {
    inode.synced.fill(0, from, to)
    before.copy(inode.synced, from, from, Math.min(to, before.length))
  }
}

/** Parts of a range that no later write covers, cut off at the end of the file. */
function remaining(range: [number, number], writes: readonly [number, number][], size: number): [number, number][] {
  let parts: [number, number][] = [range]
  for (const [from, to] of [...writes, [size, Infinity] as const])
    parts = parts.flatMap(([start, end]): [number, number][] => [
      [start, Math.min(end, from)],
      [Math.max(start, to), end],
    ])
  return parts.filter(([start, end]) => start < end)
}

const under = (entries: ReadonlyMap<string, Entry>, path: string): string[] =>
  [...entries.keys()].filter((name) => name === path || name.startsWith(`${path}/`))

function move(entries: Map<string, Entry>, from: string, to: string): void {
  for (const name of under(entries, from)) {
    entries.set(to + name.slice(from.length), entries.get(name)!)
    entries.delete(name)
  }
}

/** The handle, with some of its methods replaced. */
function withOwn(file: FileHandle, own: Partial<Record<keyof FileHandle, unknown>>): FileHandle {
  return new Proxy(file, {
    get: (target, name) => {
      if (name in own) return own[name as keyof FileHandle]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
