import type { FileHandle } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import type { Disk } from '../../../src/disk/durable-write.js'

/** Maximum files that are open for reading over all spools, besides files that are being read. */
const MAX_OPEN = 32

interface Entry {
  readonly file: Promise<FileHandle>
  users: number
  gone: boolean
}

/** Files that are read often stay open for a while, because opening and closing costs as much as reading a block. */
export class OpenFiles {
  readonly #disk: Disk
  readonly #closing = new Set<Promise<void>>()
  readonly #entries = new LRUCache<string, Entry>({
    max: MAX_OPEN,
    dispose: (entry) => {
      entry.gone = true
      this.#closeUnused(entry)
    },
  })

  constructor(disk: Disk) {
    this.#disk = disk
  }

  /** Works with a file that is open for reading. */
  async read<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
    let entry = this.#entries.get(path)
    if (entry === undefined) {
      entry = { file: this.#disk.open(path), users: 0, gone: false }
      this.#entries.set(path, entry)
    }
    entry.users++
    try {
      return await work(await entry.file)
    } catch (error) {
      if (this.#entries.peek(path) === entry) this.#entries.delete(path)
      throw error
    } finally {
      entry.users--
      this.#closeUnused(entry)
    }
  }

  /** Lets go of a file that is deleted or replaced. */
  forget(path: string): void {
    this.#entries.delete(path)
  }

  async close(): Promise<void> {
    this.#entries.clear()
    await Promise.all(this.#closing)
  }

  #closeUnused({ file, users, gone }: Entry): void {
    if (!gone || users > 0) return
    // A file that was only read has nothing to lose. The error of a file that did not open has reached its reader.
    const closing: Promise<void> = file
      .then((open) => open.close())
      .catch(() => undefined)
      .finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}
