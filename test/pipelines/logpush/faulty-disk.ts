import * as fs from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { writeFile } from 'node:fs/promises'
import type { Disk } from '../../../pipelines/logpush/spool/disk.js'

const failure = (code: string) => Object.assign(new Error(`${code}: as the test wants it`), { code })

/**
 * The real file system, with faults, and with the memory of a disk: what each file was when it was last synced. Of a
 * machine that loses its power only that is left.
 */
export class FaultyDisk {
  /** Written pieces are cut to so many bytes. */
  shortWrites: number | undefined
  /** Of all writes, before or after half of it is on the disk. */
  failWrites: 'ENOSPC' | undefined
  failSyncs: 'EIO' | undefined
  failTruncates: 'EIO' | undefined
  failReads: 'EIO' | undefined
  reads = 0
  #gone = false
  readonly #synced = new Map<string, Buffer>()
  readonly #removed = new Map<string, Buffer>()

  readonly disk: Disk = {
    ...fs,
    open: async (path, flags, mode) => {
      const file = await fs.open(path, flags, mode)
      return this.#file(file, String(path))
    },
    rename: async (from, to) => {
      this.#check()
      await fs.rename(from, to)
      const content = this.#synced.get(String(from))
      if (content !== undefined) this.#synced.set(String(to), content)
      this.#synced.delete(String(from))
    },
    rm: async (path, options) => {
      this.#check()
      const content = this.#synced.get(String(path))
      if (content !== undefined) this.#removed.set(String(path), content)
      this.#synced.delete(String(path))
      await fs.rm(path, options)
    },
  }

  /** The process does nothing more to this disk. */
  stop(): void {
    this.#gone = true
  }

  /** What is left when the power goes: files as they were synced; those whose removal was not, at random. */
  async losePower(comesBack: (path: string) => boolean): Promise<void> {
    this.stop()
    for (const [path, content] of this.#synced) await writeFile(path, content)
    for (const [path, content] of this.#removed)
      if (!this.#synced.has(path) && path.endsWith('.seg') && comesBack(path)) await writeFile(path, content)
  }

  #check(): void {
    if (this.#gone) throw failure('EROFS')
  }

  #file(file: FileHandle, path: string): FileHandle {
    const sync = async () => {
      this.#check()
      if (this.failSyncs !== undefined) throw failure(this.failSyncs)
      if ((await file.stat()).isFile()) this.#synced.set(path, await fs.readFile(path))
    }
    const own: Partial<Record<keyof FileHandle, unknown>> = {
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
    }
    return new Proxy(file, {
      get: (target, name) => {
        if (name in own) return own[name as keyof FileHandle]
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
}
