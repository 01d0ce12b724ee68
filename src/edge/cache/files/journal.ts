import { appendFile, readFile, writeFile } from 'node:fs/promises'
import type { Purge } from '../purge.js'

/** A purge that may concern files that have not been removed yet. Numbers grow over restarts. */
export interface DiskPurge {
  readonly number: number
  readonly zone: string
  readonly purge: Purge
}

/** The file with purges whose files might still exist. Purges that arrive during a write are written together. */
export class PurgeJournal {
  readonly #path: string
  readonly #failed: (error: unknown) => void
  #lines: string[] = []
  #isCleared = false
  #writing: Promise<void> | undefined

  /** `failed` is called with errors of the disk. */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Resolves when the purges so far are in the file, or could not be written; undefined if that is so now. */
  get recorded(): Promise<void> | undefined {
    return this.#writing
  }

  append(purge: DiskPurge): void {
    this.#lines.push(`${JSON.stringify(purge)}\n`)
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
        await (isCleared ? writeFile : appendFile)(this.#path, text)
      } catch (error) {
        this.#failed(error)
      }
    }
    this.#writing = undefined
  }
}
