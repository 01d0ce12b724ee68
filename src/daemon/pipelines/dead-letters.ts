import { lstat, mkdir } from 'node:fs/promises'
import type { DeadLetters, ReplayedDeadLetter, ReplayTarget } from '../../../control/logpush/services.js'
import { DeadLetterUnreadable } from '../../../control/logpush/services.js'
import type { DeadLetterEntry, DeadLetterIndex } from '../../../pipelines/logpush/dead-letter-index.js'
import { failedFile, linesOf, replay } from '../../../pipelines/run/replay.js'
import { lockFolder, StateInUse } from '../../../pipelines/run/run-lock.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'

interface Deps {
  readonly index: DeadLetterIndex
  readonly clock: Clock
  readonly log: Log
}

/** Reads the dead letters of jobs and sends them again, as `edged replay` does. */
export class StoredDeadLetters implements DeadLetters {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  waiting(job: string): number {
    return this.#deps.index.waiting(job)
  }

  async list(job: string): Promise<readonly DeadLetterEntry[]> {
    return await this.#deps.index.list(job)
  }

  async check(entry: DeadLetterEntry): Promise<void> {
    let damage: string | undefined
    try {
      for await (const _line of linesOf(await pathOf(entry), true, (message) => (damage = message))) continue
    } catch (error) {
      throw error instanceof DeadLetterUnreadable ? error : new DeadLetterUnreadable(`${entry.id}: ${messageOf(error)}`)
    }
    if (damage !== undefined) throw new DeadLetterUnreadable(`${entry.id} ${damage}`)
  }

  async *read(entry: DeadLetterEntry): AsyncGenerator<Uint8Array> {
    yield* linesOf(await pathOf(entry), true, () => {})
  }

  async replay(
    job: string,
    entry: DeadLetterEntry,
    { sink, destination, isLines, stop }: ReplayTarget,
  ): Promise<ReplayedDeadLetter> {
    const { clock, log } = this.#deps
    const path = await pathOf(entry)
    const folder = `${path}.replay`
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const unlock = await lockFolder(folder).catch((error: unknown) => {
      throw error instanceof StateInUse ? new DeadLetterUnreadable(`${entry.id} is being sent by another run`) : error
    })
    try {
      const quiet = { failing() {}, note() {}, progress() {} }
      const to = { sink, destination, isLines, stop, retryForMs: 0 }
      const { delivered, failed, read, ended, damage } = await replay({ path, folder, ...to, ...quiet, clock, log })
      const error = damage === undefined ? (ended ?? null) : `${entry.id} ${damage}`
      if (error === null) await this.#sent(job, entry, failed)
      return { id: entry.id, delivered, failed, left: Math.max(0, entry.records - read), error }
    } finally {
      await unlock()
    }
  }

  /** Marks a dead letter. Records that were rejected again are a dead letter of their own. */
  async #sent(job: string, entry: DeadLetterEntry, failed: number): Promise<void> {
    const { index, clock } = this.#deps
    const now = new Date(clock.now()).toISOString()
    await index.put(job, { ...entry, replayed_at: now })
    if (failed === 0) return
    const path = failedFile(entry.path!)
    const { size } = await lstat(path)
    await index.put(job, { ...entry, id: failedFile(entry.id), path, at: now, records: failed, bytes: size })
  }
}

/** Returns the path of the file of a dead letter. Throws DeadLetterUnreadable without a file that can be read. */
async function pathOf({ id, path }: DeadLetterEntry): Promise<string> {
  if (path === null)
    throw new DeadLetterUnreadable(`${id} is in a dead letter destination that is not a local folder; read it there`)
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) throw new DeadLetterUnreadable(`${path} does not exist any more`)
  if (!found.isFile()) throw new DeadLetterUnreadable(`${path} is not a file`)
  return path
}
