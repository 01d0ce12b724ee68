import { open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.js'
import { writeAt } from '../../../disk/positioned-io.js'
import { Body } from '../entries/body.js'
import { Delivery } from '../delivery/delivery.js'
import { Entry } from '../entries/entry.js'
import type { MemoryStore } from '../entries/memory.js'
import { Purges, type Purge } from '../entries/purge.js'
import { FileWriter } from './file-writer.js'
import {
  CHECKED_BYTES,
  decodeHead,
  encodeHead,
  fileBytes,
  fileName,
  pathOf,
  slotFor,
  urlPrefix,
  variantKey,
  type FileHead,
  type ReadHead,
} from './format.js'
import { BlockingReads, Descriptor, OpenFile, OpenFiles } from './open-files.js'
import { WriteQueue, type Write } from './write-queue.js'
import { partialPath, type DiskOwnerPort, type DiskStart } from './owner.js'

/** Responses up to this size return to memory when they are used again. Larger ones are sent from disk. */
const MAX_PROMOTED = 4 * 1024 * 1024
const FIRST_READ = 65_536
/** Blocks that are read together into memory. */
const LOAD_BLOCKS = 4

export interface DiskTierDeps {
  readonly owner: DiskOwnerPort
  readonly store: MemoryStore
  /** Number of the last purge in memory. */
  readonly number: () => number
  readonly clock: Clock
}

/** The response that a request needs from the disk tier. */
export interface Wanted {
  readonly zone: string
  readonly url: string
  readonly key: string
  /** Returns the values of the selecting fields of the request. */
  varyKey(names: readonly string[]): string
}

/** Reads and writes the files of the disk tier, in the process that serves requests. */
export class DiskTier {
  readonly #folder: string
  readonly #base: number
  readonly #deps: DiskTierDeps
  /** By numbers that all processes and restarts share. */
  readonly #purges = new Purges()
  readonly #writes = new WriteQueue((write, ended, progressed) => this.#write(write, ended, progressed))
  readonly #files = new OpenFiles()
  readonly #blocking = new BlockingReads()
  readonly #loads = new Map<string, Promise<Loaded | undefined>>()
  /** Changes with each purge and invalidation. */
  #epoch = 0
  /** Names of URLs whose files are being removed, with the number of removals. */
  readonly #removing = new Map<string, number>()
  /** Removals in progress, by the name of the file. */
  readonly #removals = new Map<string, Promise<unknown>>()
  #number = 0

  constructor({ folder, base, seen, pending }: DiskStart, deps: DiskTierDeps) {
    this.#folder = folder
    this.#base = base
    this.#deps = deps
    this.#purges.number = seen
    for (const { zone, purge, number } of pending) this.#purges.add(zone, purge, number)
  }

  /** Number of the last purge, for responses that are fetched from now on. */
  get number(): number {
    return this.#purges.number
  }

  /** Returns the stored response, or undefined at once if there is none. Never rejects. */
  find(wanted: Wanted): Promise<Entry | undefined> | undefined {
    const name = fileName(wanted.zone, wanted.url, wanted.key)
    if (this.#deps.owner.has(name) === false) return undefined
    return this.#find(name, wanted)
  }

  /** Returns the body of a response that stays on disk, if its file is open. The caller releases it. */
  opened({ file }: Entry): OpenFile | undefined {
    const opened = file && this.#files.find(file.name, file.checksums)
    if (opened) this.#deps.owner.hit(opened.name)
    return opened
  }

  /** Opens the body of a response that stays on disk. Returns undefined if the file has changed. Never rejects. */
  async open({ file, body }: Entry): Promise<OpenFile | undefined> {
    if (!file) return undefined
    const { name, checksums } = file
    try {
      return await this.#open(name, async (descriptor) => {
        const first = await descriptor.read(0, FIRST_READ)
        const read = await readHead(descriptor, first)
        if (read?.head.checksums !== checksums || read.head.length !== body.length) return undefined
        const opened = this.#opened(name, descriptor, read)
        try {
          opened.compare(first)
        } catch (error) {
          opened.release()
          throw error
        }
        this.#files.add(opened)
        this.#deps.owner.hit(name)
        return opened
      })
    } catch (error) {
      this.#unreadable(name, error)
      return undefined
    }
  }

  /** Writes a response in the background. One that is being received must have a known length. */
  write(entry: Entry, { isReserve, progressed }: { isReserve: boolean; progressed?: () => void }): void {
    const { zone, url, vary } = entry
    const name = fileName(zone, url, vary.length > 0 ? variantKey(entry.key, entry.varyKey) : entry.key)
    this.#writes.add({ entry, name, isReserve, isCancelled: false }, progressed)
  }

  /** Finishes the writes in progress and begins no others. */
  async close(): Promise<void> {
    this.#files.close()
    await this.#writes.close()
  }

  /** Replaces the head of a file after a revalidation. */
  async update(entry: Entry): Promise<void> {
    const { file } = entry
    if (!file) return
    const sequence = file.sequence + 1
    const head = { ...this.#headOf(entry), length: entry.body.length, checksums: file.checksums }
    const bytes = encodeHead(head, file.slot, sequence)
    try {
      if (!bytes) throw new Error('the head has grown')
      const handle = await open(join(this.#folder, pathOf(file.name)), 'r+')
      try {
        await writeAt(handle, [bytes], sequence % 2 === 1 ? 0 : file.slot)
      } finally {
        await handle.close()
      }
      file.sequence = sequence
    } catch {
      await this.#remove(file.name, 'invalid')
    }
  }

  /** Removes the file of a response. */
  remove({ file }: Entry): void {
    if (file) void this.#remove(file.name, 'invalid')
  }

  /** Applies a purge of the API with the version of its record. Files are removed by the owner. */
  purge(zone: string, purge: Purge, version: number): void {
    const number = this.#base + version
    if (number <= this.#purges.number) return
    this.#purges.add(zone, purge, number)
    this.#cancelled(zone, purge)
  }

  /** Removes the files of URLs, which changed at the origin. They are not used from now on. Never rejects. */
  async invalidate(zone: string, urls: readonly string[]): Promise<void> {
    this.#cancelled(zone, { urls })
    await Promise.all(urls.map(async (url) => await this.#removeUrl(urlPrefix(zone, url))))
  }

  #cancelled(zone: string, purge: Purge): void {
    this.#epoch++
    const one = new Purges()
    one.add(zone, purge)
    this.#writes.cancel((entry) => one.covers({ ...facts(entry), born: 0, checked: 0 }))
  }

  async #removeUrl(prefix: string): Promise<void> {
    this.#removing.set(prefix, (this.#removing.get(prefix) ?? 0) + 1)
    try {
      const names = await readdir(join(this.#folder, prefix.slice(0, 2)))
      await Promise.all(
        names.filter((name) => name.startsWith(prefix)).map(async (name) => await this.#remove(name, 'purge')),
      )
    } catch (error) {
      this.#deps.owner.failed('remove', error)
    }
    const left = this.#removing.get(prefix)! - 1
    if (left > 0) this.#removing.set(prefix, left)
    else this.#removing.delete(prefix)
  }

  async #remove(name: string, reason: 'purge' | 'invalid'): Promise<void> {
    const removal = Promise.all([this.#removals.get(name), this.#unlink(name, reason)])
    this.#removals.set(name, removal)
    await removal
    if (this.#removals.get(name) === removal) this.#removals.delete(name)
  }

  async #unlink(name: string, reason: 'purge' | 'invalid'): Promise<void> {
    this.#files.forget(name)
    try {
      await unlink(join(this.#folder, pathOf(name)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#deps.owner.failed('remove', error)
    }
    this.#deps.owner.removed(name, reason)
  }

  /** Reserves the bytes of a file, once an earlier file of the same name is removed. */
  async #reserve(name: string, bytes: number, mayWait: boolean): Promise<boolean> {
    await this.#removals.get(name)
    return await this.#deps.owner.reserve(bytes, mayWait)
  }

  async #find(name: string, wanted: Wanted): Promise<Entry | undefined> {
    const loaded = await this.#load(name, wanted.key)
    if (!loaded || loaded.entry) return loaded?.entry
    // The file names the fields that select the response.
    const varyKey = wanted.varyKey(loaded.vary)
    const variant = fileName(wanted.zone, wanted.url, variantKey(wanted.key, varyKey))
    const { entry } = (await this.#load(variant, wanted.key)) ?? {}
    return entry?.varyKey === varyKey ? entry : undefined
  }

  /** Reads a file once for all requests that wait for it. */
  async #load(name: string, key: string): Promise<Loaded | undefined> {
    let loading = this.#loads.get(name)
    if (!loading) {
      loading = this.#read(name, key).catch((error: unknown) => {
        this.#unreadable(name, error)
        return undefined
      })
      this.#loads.set(name, loading)
      void loading.finally(() => this.#loads.delete(name))
    }
    const loaded = await loading
    return loaded?.key === key ? loaded : undefined
  }

  async #read(name: string, key: string): Promise<Loaded | undefined> {
    const epoch = this.#epoch
    if (this.#removing.has(name.slice(0, 16))) return undefined
    return await this.#open(name, async (descriptor) => {
      const first = await descriptor.read(0, FIRST_READ)
      const read = await readHead(descriptor, first)
      if (!read) {
        await this.#remove(name, 'invalid')
        return undefined
      }
      const { head } = read
      if (head.key !== key) return undefined
      if (this.#purges.covers({ ...head, checked: head.born })) {
        await this.#remove(name, 'purge')
        return undefined
      }
      if (head.checksums === undefined) return { key, vary: head.vary, entry: undefined }
      const file = this.#opened(name, descriptor, read)
      try {
        file.compare(first)
        const body = await this.#bodyOf(file, first.subarray(2 * read.slot))
        const entry = this.#entry(name, read, body)
        // Something was purged while the file was read.
        const isCurrent = epoch === this.#epoch
        // With its body on disk the entry has only its head in memory.
        if (!isCurrent || !this.#deps.store.insert(entry)) entry.body.release()
        if (!isCurrent) return undefined
        if (!body) this.#files.add(file)
        this.#deps.owner.hit(name)
        return { key, vary: head.vary, entry }
      } finally {
        file.release()
      }
    })
  }

  /** Runs a function with an open file, which is closed afterwards unless somebody else uses it. */
  async #open<T>(name: string, run: (descriptor: Descriptor) => Promise<T>): Promise<T> {
    const descriptor = await Descriptor.open(join(this.#folder, pathOf(name)))
    try {
      return await run(descriptor)
    } finally {
      descriptor.release()
    }
  }

  #unreadable(name: string, error: unknown): void {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') this.#deps.owner.removed(name, 'invalid')
    else this.#deps.owner.failed('read', error)
  }

  /**
   * Returns the body in memory, or undefined if it stays on disk. Rejects if it is damaged. `known` has its first
   * bytes.
   */
  async #bodyOf(file: OpenFile, known: Buffer): Promise<Body | undefined> {
    const { store } = this.#deps
    const { length } = file
    if (length > Math.min(MAX_PROMOTED, store.limit / 8)) return undefined
    const body = new Body(store, length)
    try {
      for (let at = 0; at < length; at += LOAD_BLOCKS * CHECKED_BYTES) {
        const isKnown = known.length >= length
        const blocks = isKnown ? known.subarray(0, length) : await file.read(at / CHECKED_BYTES, LOAD_BLOCKS)
        if (!body.append(blocks)) {
          body.release()
          return undefined
        }
      }
    } catch (error) {
      body.release()
      throw error
    }
    body.seal()
    return body
  }

  #entry(name: string, { head, sequence, slot }: ReadHead, body: Body | undefined): Entry {
    const { store, clock, number } = this.#deps
    const elapsed = clock.now() - head.arrivedAt
    // The clock was set back, so the age is not known.
    const age = elapsed < 0 ? head.freshness.lifetime * 1000 : elapsed
    const { key, zone, url, tags, vary, varyKey, status, fields, freshness } = head
    const parts = { key, zone, url, tags, vary, varyKey, born: number(), diskBorn: head.born }
    const entry = new Entry(
      { ...parts, body: body ?? Body.elsewhere(store, head.length) },
      { status, fields, freshness, arrivedAt: clock.monotonic() - age },
    )
    entry.file = { name, slot, sequence, checksums: head.checksums! }
    entry.isStreamed = body === undefined
    return entry
  }

  #opened(name: string, descriptor: Descriptor, read: ReadHead): OpenFile {
    const damaged = () => void this.#remove(name, 'invalid')
    return new OpenFile({ name, descriptor, read }, { blocking: this.#blocking, damaged })
  }

  #headOf({ key, zone, url, tags, vary, varyKey, head, diskBorn }: Entry): Omit<FileHead, 'length' | 'checksums'> {
    const { clock } = this.#deps
    const { status, fields, freshness } = head
    const arrivedAt = clock.now() - Math.round(clock.monotonic() - head.arrivedAt)
    return { key, zone, url, tags, vary, varyKey, status, fields, freshness, arrivedAt, born: diskBorn }
  }

  #write(write: Write, ended: () => void, progressed: () => void = () => undefined): boolean {
    const { entry, name, isReserve } = write
    const head = this.#headOf(entry)
    const length = entry.body.complete ? entry.body.length : entry.body.expected
    const slot = length === undefined ? undefined : slotFor(head, length)
    if (slot === undefined || length === undefined || write.isCancelled) {
      entry.body.release()
      return false
    }
    const { owner } = this.#deps
    const bytes = fileBytes(slot, length)
    const writer = new FileWriter({
      path: join(this.#folder, pathOf(name)),
      partial: partialPath(this.#folder, name, ++this.#number),
      slot,
      head,
      length,
      begin: async () => await this.#reserve(name, bytes, entry.body.complete),
      mayKeep: () =>
        !write.isCancelled && !this.#purges.covers({ ...facts(entry), born: head.born, checked: head.born }),
      done: ({ isReserved, checksums, error }) => {
        if (isReserved) owner.settle(bytes, checksums === undefined ? undefined : name, isReserve)
        if (checksums !== undefined) entry.file = { name, slot, sequence: 1, checksums }
        else if (error !== undefined) owner.failed('write', error)
        ended()
      },
    })
    if (entry.vary.length > 0) void this.#mark(entry, head)
    new Delivery(entry.body, writer, { pieces: undefined, done: () => undefined, progressed }).start()
    entry.body.release()
    return true
  }

  /** Writes the file that names the selecting fields of a key. */
  async #mark({ zone, url, key }: Entry, head: Omit<FileHead, 'length' | 'checksums'>): Promise<void> {
    const { owner } = this.#deps
    const name = fileName(zone, url, key)
    const mark = { ...head, tags: [], varyKey: '', fields: [] }
    const slot = slotFor(mark, 0)!
    const bytes = fileBytes(slot, 0)
    const writer = new FileWriter({
      path: join(this.#folder, pathOf(name)),
      partial: partialPath(this.#folder, name, ++this.#number),
      slot,
      head: mark,
      length: undefined,
      begin: async () => await this.#reserve(name, bytes, true),
      mayKeep: () => true,
      done: ({ isReserved, checksums, error }) => {
        if (isReserved) owner.settle(bytes, error === undefined && checksums !== undefined ? name : undefined, false)
      },
    })
    writer.end()
  }
}

interface Loaded {
  readonly key: string
  readonly vary: readonly string[]
  /** Undefined if the file names the selecting fields only. */
  readonly entry: Entry | undefined
}

const facts = ({ zone, url, tags }: Entry): Pick<Entry, 'zone' | 'url' | 'tags'> => ({ zone, url, tags })

/** Returns the newest valid head of a file, or undefined if it is damaged. `first`: the bytes at its beginning. */
async function readHead(descriptor: Descriptor, first: Buffer): Promise<ReadHead | undefined> {
  const found = decodeHead(first, false)
  if (!found || 'head' in found) return found
  const more = decodeHead(await descriptor.read(0, found.needed), true)
  return more && 'head' in more ? more : undefined
}
