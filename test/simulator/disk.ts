import type { FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Disk } from '../../src/disk/durable-write.js'
import { failure, type Faults } from './faults.js'
import { Inode, SimulatedFile, type FilePort } from './file.js'
import type { Random } from './random.js'
import type { Life, Scheduler } from './scheduler.js'

const SLOW_MS = 5000
/** Calls that fail after the first one without a descriptor. */
const WITHOUT_DESCRIPTORS = 12

/** A change of names. The system keeps their order. */
interface NameChange {
  readonly folder: string
  readonly apply: (names: Map<string, Inode | 'folder'>) => void
}

/** A disk in memory. After a loss of power it has any part of the bytes, and a prefix of the changes of names, since the last sync. */
export class SimulatedDisk {
  readonly #scheduler: Scheduler
  readonly #faults: Faults
  #names = new Map<string, Inode | 'folder'>([['/', 'folder']])
  readonly #durable = new Map<string, Inode | 'folder'>([['/', 'folder']])
  #journal: NameChange[] = []
  #withoutDescriptors = 0

  constructor(scheduler: Scheduler, faults: Faults) {
    this.#scheduler = scheduler
    this.#faults = faults
  }

  /** The disk as one life sees it. */
  port(life: Life): Disk {
    const call = async <T>(name: string, path: string, work: () => T): Promise<T> =>
      await this.#call(life, `${name} ${label(path)}`, work)
    const disk = {
      open: async (path: string, flags = 'r') => await call(`open ${flags}`, path, () => this.#open(life, path, flags)),
      rename: async (from: string, to: string) => await call('rename', to, () => this.#rename(from, to)),
      rm: async (path: string, options?: { force?: boolean }) => await call('rm', path, () => this.#rm(path, options)),
      mkdir: async (path: string) => await call('mkdir', path, () => this.#mkdir(path)),
      readdir: async (path: string) => await call('readdir', path, () => this.#list(path)),
      stat: async (path: string) => await call('stat', path, () => this.#stat(path)),
    }
    return disk as unknown as Disk
  }

  /** Only synced data is sure to be there afterwards. */
  losePower(random: Random): void {
    for (const change of this.#journal.slice(0, random.below(this.#journal.length + 1))) change.apply(this.#durable)
    this.#journal = []
    const inodes = new Set([...this.#names.values(), ...this.#durable.values()])
    for (const inode of inodes) if (inode !== 'folder') inode.losePower(random)
    this.#names = new Map(this.#durable)
    this.#withoutDescriptors = 0
  }

  /** Returns what processes find in a file. */
  content(path: string): string | undefined {
    const found = this.#names.get(path)
    return found instanceof Inode ? found.data.toString() : undefined
  }

  /** Moves a folder to the same path of another disk. Both are synced. */
  moveTo(other: SimulatedDisk, path: string): void {
    if (this.#names.get(path) !== 'folder') return
    for (const disk of [this, other]) disk.#keepNames()
    other.#removeBelow(path)
    for (const [name, inode] of this.#names) {
      if (name !== path && !name.startsWith(`${path}/`)) continue
      if (inode !== 'folder') inode.keep()
      for (const names of [other.#names, other.#durable]) names.set(name, inode)
    }
    this.#removeBelow(path)
  }

  /** All changes of names are on the disk. */
  #keepNames(): void {
    for (const { apply } of this.#journal) apply(this.#durable)
    this.#journal = []
  }

  #removeBelow(path: string): void {
    for (const names of [this.#names, this.#durable])
      for (const name of names.keys()) if (name === path || name.startsWith(`${path}/`)) names.delete(name)
  }

  async #call<T>(life: Life, name: string, work: () => T): Promise<T> {
    const slow = this.#faults.has('slow') ? 1 + this.#faults.random.below(SLOW_MS) : 0
    return await this.#scheduler.call(life, name, work, slow)
  }

  #changed(path: string, apply: NameChange['apply']): void {
    apply(this.#names)
    this.#journal.push({ folder: dirname(path), apply })
  }

  #open(life: Life, path: string, flags: string): FileHandle {
    if (this.#withoutDescriptors > 0) {
      this.#withoutDescriptors--
      throw failure('EMFILE')
    }
    if (this.#faults.has('descriptors')) {
      this.#withoutDescriptors = this.#faults.random.below(WITHOUT_DESCRIPTORS)
      throw failure('EMFILE')
    }
    const found = this.#names.get(path)
    if (found === 'folder') return this.#folder(life, path)
    if (!flags.startsWith('w')) {
      if (found === undefined) throw failure('ENOENT')
      return this.#file(life, path, found)
    }
    if (found !== undefined && flags.startsWith('wx')) throw failure('EEXIST')
    if (found !== undefined) {
      found.change({ cut: 0 }, this.#scheduler.time)
      return this.#file(life, path, found)
    }
    this.#inFolder(path)
    this.#faults.strike('full')
    const inode = new Inode(this.#scheduler.time)
    this.#changed(path, (names) => names.set(path, inode))
    return this.#file(life, path, inode)
  }

  #inFolder(path: string): void {
    if (this.#names.get(dirname(path)) !== 'folder') throw failure('ENOENT')
  }

  #rename(from: string, to: string): void {
    const inode = this.#names.get(from)
    if (inode === undefined) throw failure('ENOENT')
    this.#faults.strike('full')
    this.#changed(to, (names) => {
      if (inode === 'folder') moveBelow(names, from, to)
      if (names.get(from) === inode) names.delete(from)
      names.set(to, inode)
    })
  }

  #rm(path: string, { force = false }: { force?: boolean } = {}): void {
    if (!this.#names.has(path)) {
      if (!force) throw failure('ENOENT')
      return
    }
    this.#changed(path, (names) => {
      for (const name of names.keys()) if (name.startsWith(`${path}/`)) names.delete(name)
      names.delete(path)
    })
  }

  #mkdir(path: string): void {
    if (this.#names.has(path)) throw failure('EEXIST')
    this.#inFolder(path)
    this.#faults.strike('full')
    this.#changed(path, (names) => names.set(path, 'folder'))
  }

  #list(path: string): string[] {
    if (this.#names.get(path) !== 'folder') throw failure('ENOENT')
    const names: string[] = []
    for (const name of this.#names.keys()) if (name !== path && dirname(name) === path) names.push(basename(name))
    return names.sort()
  }

  #stat(path: string): { isDirectory: () => boolean; size: number; mtimeMs: number } {
    const found = this.#names.get(path)
    if (found === undefined) throw failure('ENOENT')
    if (found === 'folder') return { isDirectory: () => true, size: 0, mtimeMs: 0 }
    return { isDirectory: () => false, size: found.data.length, mtimeMs: found.changedAt }
  }

  #folder(life: Life, path: string): FileHandle {
    const sync = async () =>
      await this.#call(life, `sync ${path}`, () => {
        this.#faults.strike('sync')
        for (const { folder, apply } of this.#journal) if (folder === path) apply(this.#durable)
        this.#journal = this.#journal.filter(({ folder }) => folder !== path)
      })
    return { sync, datasync: sync, close: async () => {} } as unknown as FileHandle
  }

  #file(life: Life, path: string, inode: Inode): FileHandle {
    const name = label(path)
    const port: FilePort = {
      faults: this.#faults,
      call: (operation, work) => this.#call(life, `${operation} ${name}`, work),
      now: () => this.#scheduler.time,
    }
    return new SimulatedFile(inode, port) as unknown as FileHandle
  }
}

/** Moves the content of a folder. */
function moveBelow(names: Map<string, Inode | 'folder'>, from: string, to: string): void {
  for (const [name, inode] of names) {
    if (!name.startsWith(`${from}/`)) continue
    names.delete(name)
    names.set(to + name.slice(from.length), inode)
  }
}

/** The path without the random part of a temporary name. */
const label = (path: string): string => path.replace(/[0-9a-f]{12}\.tmp$/, 'tmp')
