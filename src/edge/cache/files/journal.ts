import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder, type Disk } from '../../../disk/durable-write.js'
import type { Purge } from '../entries/purge.js'

/** A purge that may concern files that have not been removed yet. Numbers grow over restarts. */
export interface DiskPurge {
  readonly number: number
  readonly zone: string
  readonly purge: Purge
}

/** The file with purges whose files might still exist. Purges that arrive during a write are written together. */
export class PurgeJournal {
  readonly #disk: Disk
  readonly #path: string
  readonly #failed: (error: unknown) => void
  #lines: string[] = []
  #isCleared = false
  /** The name of the file is durable. */
  #isNamed = false
  #writing: Promise<void> | undefined

  /** `failed` is called with errors of the disk. */
  constructor(disk: Disk, path: string, failed: (error: unknown) => void) {
    this.#disk = disk
    this.#path = path
    this.#failed = failed
  }

  /** Resolves when the purges so far are durable, or could not be written. Returns undefined if that is so now. */
  get recorded(): Promise<void> | undefined {
    return this.#writing
  }

  append(purge: DiskPurge): void {
    // The line break before it ends a line that a kill or a full disk has cut off.
    this.#lines.push(`\n${JSON.stringify(purge)}\n`)
    this.#begin()
  }

  /** Removes the purges so far. */
  clear(): void {
    this.#lines = []
    this.#isCleared = true
    this.#begin()
  }

  /** Returns the purges. A line that a kill cut off was never acknowledged. */
  async read(): Promise<DiskPurge[]> {
    const text = await readFile(this.#path, 'utf8').catch(() => '')
    return text.split('\n').flatMap((line) => {
      try {
        return line === '' ? [] : [JSON.parse(line) as DiskPurge]
      } catch {
        return []
      }
    })
  }

  #begin(): void {
    this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    while (this.#isCleared || this.#lines.length > 0) {
      const text = this.#lines.join('')
      const isCleared = this.#isCleared
      this.#lines = []
      this.#isCleared = false
      try {
        await this.#store(text, isCleared ? 'w' : 'a')
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#writing = undefined
  }

  async #store(text: string, flags: 'w' | 'a'): Promise<void> {
    const file = await this.#disk.open(this.#path, flags, 0o600)
    try {
      await file.writeFile(text)
      await file.datasync()
    } finally {
      await file.close()
    }
    if (this.#isNamed) return
    await syncFolder(this.#disk, dirname(this.#path))
    this.#isNamed = true
  }
}
