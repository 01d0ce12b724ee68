import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../src/core/errors.js'
import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import type { Log } from '../../src/core/log.js'
import { makeFolder, writeDurably } from '../../src/disk/durable-write.js'

/** Dead letters of a job that the index has. Older ones are left out. */
const MAX_ENTRIES = 1000
/** Lines of a file before it is written again without outdated lines. */
const MAX_LINES = 2 * MAX_ENTRIES
const MAX_ERROR = 500
const ENDING = '.ndjson'

/** Records of one batch that are in the dead letter destination. */
export interface DeadLetterEntry {
  /** Name of the batch, or of the dead letter that was sent again without success. */
  readonly id: string
  /** When the records were rejected, by RFC 3339. */
  readonly at: string
  readonly records: number
  /** Before compression. */
  readonly bytes: number
  readonly reason: 'too_large' | 'refused'
  /** Message of the destination of the job. */
  readonly error: string
  /** File of the records. Null if the dead letter destination is not a local folder. */
  readonly path: string | null
  /** When the records were sent again, by RFC 3339. Null if they were not. */
  readonly replayed_at: string | null
}

/**
 * Remembers for each job which batches of the dead letter destination are its own: a file of JSON lines for each job. A
 * later line replaces an earlier one with the same id.
 */
export class DeadLetterIndex {
  readonly #folder: string
  readonly #log: Log
  readonly #turns = new KeyedMutex()
  /** Records of each job that were not sent again. */
  readonly #waiting = new Map<string, number>()

  private constructor(folder: string, log: Log) {
    this.#folder = folder
    this.#log = log
  }

  /** Opens the index in a folder, which is created with the first dead letter. */
  static async open(folder: string, log: Log): Promise<DeadLetterIndex> {
    const index = new DeadLetterIndex(folder, log)
    for (const name of await fs.readdir(folder).catch(() => []))
      if (name.endsWith(ENDING)) await index.#count(name.slice(0, -ENDING.length))
    return index
  }

  /** Returns how many records of a job are in the dead letter destination and were not sent again. */
  waiting(job: string): number {
    return this.#waiting.get(job) ?? 0
  }

  /** Returns the dead letters of a job, newest first. */
  async list(job: string): Promise<readonly DeadLetterEntry[]> {
    return await this.#turns.run(job, async () => (await this.#read(job)).entries)
  }

  /** Adds a dead letter or replaces the one with the same id. Never rejects, because the records themselves are safe. */
  async put(job: string, entry: DeadLetterEntry): Promise<void> {
    await this.#turns.run(job, async () => {
      try {
        await this.#append(job, { ...entry, error: entry.error.slice(0, MAX_ERROR) })
        await this.#count(job)
      } catch (error) {
        this.#log.warn({ event: 'dead_letter_not_indexed', job, batch: entry.id, error: messageOf(error) })
      }
    })
  }

  /** Forgets a deleted job. Its dead letters stay. */
  async remove(job: string): Promise<void> {
    await this.#turns.run(job, async () => {
      this.#waiting.delete(job)
      await fs.rm(this.#path(job), { force: true })
    })
  }

  async #count(job: string): Promise<void> {
    const { entries } = await this.#read(job)
    const waiting = entries.filter((entry) => entry.replayed_at === null)
    this.#waiting.set(
      job,
      waiting.reduce((sum, { records }) => sum + records, 0),
    )
  }

  async #append(job: string, entry: DeadLetterEntry): Promise<void> {
    await makeFolder(fs, this.#folder)
    const { entries, lines, isWhole } = await this.#read(job)
    if (lines >= MAX_LINES || !isWhole) {
      const kept = entries.filter(({ id }) => id !== entry.id).slice(0, MAX_ENTRIES - 1)
      return await writeDurably(fs, this.#path(job), [entry, ...kept].toReversed().map(lineOf).join(''))
    }
    const file = await fs.open(this.#path(job), 'a', 0o600)
    try {
      await file.writeFile(lineOf(entry))
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  async #read(job: string): Promise<{ entries: DeadLetterEntry[]; lines: number; isWhole: boolean }> {
    const text = await fs.readFile(this.#path(job), 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return ''
      throw error
    })
    const lines = text.split('\n')
    // A crash may have left a part of a line at the end.
    const rest = lines.pop()
    const entries = new Map<string, DeadLetterEntry>()
    for (const line of lines) {
      const entry = entryOf(line)
      if (entry) entries.set(entry.id, entry)
    }
    return {
      entries: [...entries.values()].toReversed().slice(0, MAX_ENTRIES),
      lines: lines.length,
      isWhole: rest === '',
    }
  }

  #path(job: string): string {
    return join(this.#folder, job + ENDING)
  }
}

const lineOf = (entry: DeadLetterEntry): string => `${JSON.stringify(entry)}\n`

/** Returns the entry of a line. Undefined for a damaged line. */
function entryOf(line: string): DeadLetterEntry | undefined {
  try {
    const entry = JSON.parse(line) as DeadLetterEntry
    return typeof entry.id === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}
