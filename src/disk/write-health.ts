import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Clock } from '../core/clock.js'
import { isDiskFull, messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { makeFolder, TEMPORARY, type Disk } from './durable-write.js'

/** Pause before the first trial. It doubles with each failed trial, up to the maximum. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000
const TRIAL_BYTES = 64 * 1024
const TRIAL = `write-trial${TEMPORARY}`

export interface WriteHealthDeps {
  readonly disk: Disk
  readonly clock: Clock
  readonly log: Log
}

/**
 * The folders of one part of the daemon that do not accept writes. While there are any, small files are written there, so
 * that the part becomes available again without traffic. Each round of trials ends with the first one that fails.
 */
export class WriteHealth {
  readonly #part: string
  readonly #deps: WriteHealthDeps
  /** Why each folder does not accept writes. The one that was tried last is at the end. */
  readonly #failing = new Map<string, string>()
  readonly #closing = new AbortController()
  #trying: Promise<void> | undefined

  /** `part`: subject of the sentences that describe its state. */
  constructor(part: string, deps: WriteHealthDeps) {
    this.#part = part
    this.#deps = deps
  }

  /** Why the part cannot write; undefined if it can. */
  get unavailable(): string | undefined {
    const [reason] = this.#failing.values()
    return reason === undefined ? undefined : `${this.#part} cannot write: ${reason}`
  }

  /** A write in this folder failed. */
  failed(folder: string, error: unknown): void {
    const isNew = !this.#failing.has(folder)
    this.#failing.set(folder, reasonOf(error))
    if (isNew) this.#deps.log.error({ event: 'cannot_write', part: this.#part, folder, error: messageOf(error) })
    if (!this.#closing.signal.aborted) this.#trying ??= this.#tryAgain()
  }

  /** A write in this folder succeeded. */
  worked(folder: string): void {
    if (this.#failing.delete(folder)) this.#deps.log.info({ event: 'can_write_again', part: this.#part, folder })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#trying
  }

  async #tryAgain(): Promise<void> {
    const { signal } = this.#closing
    let pause = FIRST_PAUSE_MS
    while (this.#failing.size > 0) {
      await this.#deps.clock.sleep(pause, signal).catch(() => undefined)
      if (signal.aborted) break
      await this.#round()
      pause = Math.min(pause * 2, MAX_PAUSE_MS)
    }
    this.#trying = undefined
  }

  async #round(): Promise<void> {
    for (const folder of this.#failing.keys()) {
      try {
        await this.#trial(folder)
        this.worked(folder)
      } catch (error) {
        this.#failing.delete(folder)
        this.#failing.set(folder, reasonOf(error))
        return
      }
    }
  }

  async #trial(folder: string): Promise<void> {
    const { disk } = this.#deps
    // A full disk may have had no room for the folder.
    const path = join(await makeFolder(disk, folder), TRIAL)
    try {
      const file = await disk.open(path, 'w', 0o600)
      try {
        // Other bytes would need no space on a disk that compresses.
        await file.writeFile(randomBytes(TRIAL_BYTES))
        await file.datasync()
      } finally {
        await file.close()
      }
    } finally {
      await disk.rm(path, { force: true }).catch(() => undefined)
    }
  }
}

const reasonOf = (error: unknown): string =>
  isDiskFull(error) ? 'its disk is full; free space on it' : messageOf(error)
