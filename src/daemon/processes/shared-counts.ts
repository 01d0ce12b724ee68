import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { CountFile } from './count-file.js'

/** A file in memory on Linux. */
const MEMORY = '/dev/shm'
/** A new file is begun at this size. */
const FILE_BYTES = 4 * 2 ** 20

/** The files that counts of rate limits are shared in, seen from the daemon: it creates and deletes them. */
export class SharedCounts {
  readonly counts: CountFile
  readonly #folder: string
  #number = 0

  /** `data`: the data folder, which no other daemon uses. */
  constructor(data: string, log: Log) {
    this.#folder = freshFolder(data, log)
    this.counts = new CountFile([{ path: this.#next(), position: 0 }], log)
  }

  /** The current file has grown: the processes should change to a new one. */
  get isFull(): boolean {
    return this.counts.size >= FILE_BYTES
  }

  /** Changes to a new file. `tell` makes all processes use a file, or forget one, and resolves when they do. */
  async rotate(tell: {
    readonly use: (path: string) => Promise<void>
    readonly forget: (path: string) => Promise<void>
  }): Promise<void> {
    const [old] = this.counts.segments
    const next = this.#next()
    this.counts.use(next)
    await tell.use(next)
    if (!old) return
    this.counts.forget(old.path)
    await tell.forget(old.path)
    rmSync(old.path, { force: true })
  }

  close(): void {
    this.counts.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #next(): string {
    return join(this.#folder, String(++this.#number))
  }
}

/** Creates the folder. Deletes the folder of a killed daemon with the same data folder. */
function freshFolder(data: string, log: Log): string {
  const prefix = `edged-${createHash('sha256').update(resolve(data)).digest('hex').slice(0, 16)}-`
  try {
    accessSync(MEMORY, constants.W_OK)
    for (const name of readdirSync(MEMORY))
      if (name.startsWith(prefix)) rmSync(join(MEMORY, name), { recursive: true, force: true })
    return mkdtempSync(join(MEMORY, prefix))
  } catch (error) {
    const folder = join(data, 'counts')
    log.info({ event: 'counts_on_disk', folder, reason: messageOf(error) })
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}
