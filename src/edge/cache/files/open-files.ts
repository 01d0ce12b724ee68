import { close, fstatSync, open, read, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { CHECKED_BYTES, isIntact, type ReadHead } from './format.js'

const openFd = promisify(open)

/** Files that stay open, the sum of the lengths of their bodies, and for how long after their last use. */
const MAX_OPEN = 128
const MAX_OPEN_BYTES = 64 * 1024 * 1024
const IDLE_MS = 10_000
/** No read blocks for a while after one that waited for the disk: it took so long, or longer than a busy machine explains. */
const SLOW_MS = 5
const STALLED_MS = 100
const PAUSE_MS = 60_000

/** A block of a file does not have its checksum. */
class DamagedFile extends Error {
  override readonly name = 'DamagedFile'
}

/** A file that is open for reading, until its last user releases it. */
export class Descriptor {
  readonly fd: number
  #users = 1

  private constructor(fd: number) {
    this.fd = fd
  }

  /** The caller is the first user. */
  static async open(path: string): Promise<Descriptor> {
    return new Descriptor(await openFd(path, 'r'))
  }

  retain(): void {
    this.#users++
  }

  release(): void {
    if (--this.#users === 0) close(this.fd, () => undefined)
  }

  /** Reads bytes from `from` to `to` or the end of the file, into `memory` if it is passed. */
  async read(from: number, to: number, memory = Buffer.allocUnsafeSlow(to - from)): Promise<Buffer> {
    let filled = 0
    while (filled < to - from) {
      const count = await this.#read(memory, filled, from + filled, to - from - filled)
      if (count === 0) break
      filled += count
    }
    return memory.subarray(0, filled)
  }

  // The methods of `node:fs/promises` cost several times as much.
  async #read(memory: Buffer, offset: number, position: number, length: number): Promise<number> {
    return await new Promise((resolve, reject) =>
      read(this.fd, memory, offset, length, position, (error, count) => (error ? reject(error) : resolve(count))),
    )
  }
}

/** Decides whether reads may block the process. They may only if the memory of the system serves them. */
export class BlockingReads {
  #pausedUntil = 0
  /** Blocks that the process had read from disk at the last slow read. */
  #fromDisk = process.resourceUsage().fsRead

  mayRead(now: number): boolean {
    return now >= this.#pausedUntil
  }

  took(began: number): void {
    const now = performance.now()
    if (now - began <= SLOW_MS) return
    const { fsRead } = process.resourceUsage()
    if (fsRead > this.#fromDisk || now - began > STALLED_MS) this.#pausedUntil = now + PAUSE_MS
    this.#fromDisk = fsRead
  }
}

/** The body of a response on disk, open for any number of readers. Each block is compared with its checksum once. */
export class OpenFile {
  readonly name: string
  readonly length: number
  /** As the entry has them. */
  readonly checksums: string
  /** When it was last used and read, by `performance.now()`. */
  usedAt = performance.now()
  #readAt = -Infinity
  readonly #descriptor: Descriptor
  readonly #offset: number
  readonly #crcs: Buffer
  /** 1 for blocks that were compared. */
  readonly #compared: Uint8Array
  readonly #changedAt: number
  readonly #blocking: BlockingReads
  /** Called if a block is damaged. */
  readonly #damaged: () => void

  /** The caller is its first user. */
  constructor(
    { name, descriptor, read: { head, slot } }: { name: string; descriptor: Descriptor; read: ReadHead },
    { blocking, damaged }: { blocking: BlockingReads; damaged: () => void },
  ) {
    this.name = name
    this.length = head.length
    this.checksums = head.checksums!
    descriptor.retain()
    this.#descriptor = descriptor
    this.#offset = 2 * slot
    this.#crcs = Buffer.from(this.checksums, 'base64')
    this.#compared = new Uint8Array(Math.ceil(head.length / CHECKED_BYTES))
    this.#changedAt = fstatSync(descriptor.fd).mtimeMs
    this.#blocking = blocking
    this.#damaged = damaged
  }

  retain(): void {
    this.#descriptor.retain()
  }

  release(): void {
    this.#descriptor.release()
  }

  /** Whether nothing was written to the file since it was opened. */
  get isUnchanged(): boolean {
    return fstatSync(this.#descriptor.fd).mtimeMs === this.#changedAt
  }

  /** Compares the body with its checksums, if `first`, the bytes at the beginning of the file, contains the whole body. */
  compare(first: Buffer): void {
    if (first.length < this.#offset + this.length) return
    this.#compare(first.subarray(this.#offset, this.#offset + this.length), 0)
  }

  /** Reads blocks, the last ones of the body at most. Rejects if one is damaged. */
  async read(first: number, count: number, memory?: Buffer<ArrayBuffer>): Promise<Buffer> {
    const from = first * CHECKED_BYTES
    const to = Math.min(this.length, from + count * CHECKED_BYTES)
    const bytes = await this.#descriptor.read(this.#offset + from, this.#offset + to, memory)
    if (bytes.length !== to - from) this.#reject()
    this.#compare(bytes, first)
    return bytes
  }

  /** Reads a block into `memory` if that does not wait for the disk: it was read before, and not long ago. */
  readNow(index: number, memory: () => Buffer): Buffer | undefined {
    const now = performance.now()
    if (this.#compared[index] !== 1 || now - this.#readAt > IDLE_MS || !this.#blocking.mayRead(now)) return undefined
    const from = index * CHECKED_BYTES
    const length = Math.min(CHECKED_BYTES, this.length - from)
    const bytes = memory()
    if (readSync(this.#descriptor.fd, bytes, 0, length, this.#offset + from) !== length) this.#reject()
    this.#blocking.took(now)
    this.#readAt = now
    return bytes.subarray(0, length)
  }

  #compare(bytes: Buffer, first: number): void {
    for (let at = 0, index = first; at < bytes.length; at += CHECKED_BYTES, index++) {
      if (this.#compared[index] === 1) continue
      if (!isIntact(bytes.subarray(at, at + CHECKED_BYTES), this.#crcs, index)) this.#reject()
      this.#compared[index] = 1
    }
    this.#readAt = performance.now()
  }

  #reject(): never {
    this.#damaged()
    throw new DamagedFile('a file of the response cache is damaged')
  }
}

/** Files that stay open for the next readers. Their number is bounded, and they close soon after their last use. */
export class OpenFiles {
  readonly #files = new Map<string, OpenFile>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** Returns a file for one more user, if it is open and still the same. */
  find(name: string, checksums: string): OpenFile | undefined {
    const file = this.#files.get(name)
    if (!file) return undefined
    if (file.checksums !== checksums || !file.isUnchanged) {
      this.#drop(file)
      return undefined
    }
    file.usedAt = performance.now()
    file.retain()
    return file
  }

  /** Keeps a file open. */
  add(file: OpenFile): void {
    if (this.#isClosed || file.length > MAX_OPEN_BYTES / 8) return
    this.forget(file.name)
    file.retain()
    this.#files.set(file.name, file)
    this.#bytes += file.length
    while (this.#files.size > MAX_OPEN || this.#bytes > MAX_OPEN_BYTES) this.#drop(this.#oldest())
    this.#timer ??= setInterval(() => this.#closeIdle(), IDLE_MS).unref()
  }

  /** Closes a file, as soon as nobody reads it. */
  forget(name: string): void {
    const file = this.#files.get(name)
    if (file) this.#drop(file)
  }

  /** Closes all files and keeps none open from now on. */
  close(): void {
    this.#isClosed = true
    for (const file of this.#files.values()) this.#drop(file)
  }

  #oldest(): OpenFile {
    let oldest: OpenFile | undefined
    for (const file of this.#files.values()) if (!oldest || file.usedAt < oldest.usedAt) oldest = file
    return oldest!
  }

  #closeIdle(): void {
    const before = performance.now() - IDLE_MS
    for (const file of this.#files.values()) if (file.usedAt < before) this.#drop(file)
  }

  #drop(file: OpenFile): void {
    this.#files.delete(file.name)
    this.#bytes -= file.length
    file.release()
    if (this.#files.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
