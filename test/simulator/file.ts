import { failure, type Faults } from './faults.js'
import type { Random } from './random.js'

const SECTOR = 512
const NOTHING = Buffer.alloc(0)

type Change = { readonly at: number; readonly bytes: Buffer } | { readonly cut: number }

/** Content of a file: what processes see, what survives a loss of power, and the changes between the two. */
export class Inode {
  data: Buffer = NOTHING
  changedAt: number
  #synced: Buffer = NOTHING
  #pending: Change[] = []

  constructor(now: number) {
    this.changedAt = now
  }

  change(change: Change, now: number): void {
    this.data = changed(this.data, change)
    this.#pending.push(change)
    this.changedAt = now
  }

  /** A sync that fails leaves some of the bytes clean: a later sync skips them. */
  sync(faults: Faults): void {
    if (faults.has('sync')) {
      this.#pending = this.#pending.filter(() => faults.random.chance(0.5))
      throw failure('EIO')
    }
    for (const change of this.#pending) this.#synced = changed(this.#synced, change)
    this.#pending = []
  }

  /** All content is on the disk. */
  keep(): void {
    this.#synced = this.data
    this.#pending = []
  }

  /** Of the changes since the last sync any are there, each whole or some of its sectors. */
  losePower(random: Random): void {
    for (const change of this.#pending) {
      if (random.chance(0.4)) continue
      if ('cut' in change || random.chance(0.6)) this.#synced = changed(this.#synced, change)
      else {
        const from = Math.floor(random.below(change.bytes.length + 1) / SECTOR) * SECTOR
        const bytes = change.bytes.subarray(from, from + SECTOR * (1 + random.below(4)))
        this.#synced = changed(this.#synced, { at: change.at + from, bytes })
      }
    }
    this.#pending = []
    this.data = this.#synced
  }
}

/** Returns the content after a change, which has memory of its own. */
function changed(content: Buffer, change: Change): Buffer {
  const size = 'cut' in change ? change.cut : Math.max(content.length, change.at + change.bytes.length)
  const result = Buffer.allocUnsafe(size)
  content.copy(result, 0, 0, Math.min(size, content.length))
  if (size > content.length) result.fill(0, content.length)
  if (!('cut' in change)) change.bytes.copy(result, change.at)
  return result
}

/** What a file needs of its disk. */
export interface FilePort {
  readonly faults: Faults
  /** Does the work in a later step. */
  readonly call: <T>(operation: string, work: () => T) => Promise<T>
  readonly now: () => number
}

/** An open file of one life. */
export class SimulatedFile {
  readonly #inode: Inode
  readonly #port: FilePort
  #end = 0

  constructor(inode: Inode, port: FilePort) {
    this.#inode = inode
    this.#port = port
  }

  async writeFile(content: string | Uint8Array): Promise<void> {
    await this.#port.call('write', () => {
      const bytes = Buffer.from(content as Uint8Array)
      this.#write(this.#end, bytes, false)
      this.#end += bytes.length
    })
  }

  async writev(pieces: readonly Uint8Array[], at: number): Promise<{ bytesWritten: number }> {
    return await this.#port.call(`write ${at}`, () => ({ bytesWritten: this.#write(at, Buffer.concat(pieces), true) }))
  }

  async read(into: Buffer, offset: number, length: number, at: number): Promise<{ bytesRead: number }> {
    return await this.#port.call(`read ${at}`, () => {
      this.#port.faults.strike('read')
      const { data } = this.#inode
      return { bytesRead: data.copy(into, offset, at, Math.min(data.length, at + length)) }
    })
  }

  async truncate(cut = 0): Promise<void> {
    await this.#port.call(`cut ${cut}`, () => {
      this.#port.faults.strike('cut')
      this.#inode.change({ cut }, this.#port.now())
    })
  }

  async sync(): Promise<void> {
    await this.#port.call('sync', () => this.#inode.sync(this.#port.faults))
  }

  async datasync(): Promise<void> {
    await this.sync()
  }

  async close(): Promise<void> {}

  /** Returns the number of stored bytes. */
  #write(at: number, bytes: Buffer, mayBeShort: boolean): number {
    const { faults, now } = this.#port
    const { random } = faults
    if (faults.has('full')) {
      this.#inode.change({ at, bytes: bytes.subarray(0, random.below(bytes.length + 1)) }, now())
      throw failure('ENOSPC')
    }
    const stored = mayBeShort && faults.has('short') ? 1 + random.below(bytes.length) : bytes.length
    this.#inode.change({ at, bytes: bytes.subarray(0, stored) }, now())
    return stored
  }
}
