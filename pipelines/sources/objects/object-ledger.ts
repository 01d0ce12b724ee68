/**
 * Objects that a run has read from a bucket. They are stored in a file of appended lines `ID SECONDS RECORDS`. The last
 * line of an object counts. ID is a hash of key and ETag. SECONDS is the time of the object's last change. RECORDS is
 * the number of safe records, or `all` if the object was read to its end.
 */
import { createHash } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../../../src/disk/durable-write.js'

/** An object of a bucket, at one of its contents. */
export interface StoredObject {
  readonly key: string
  readonly etag: string
  /** Milliseconds since 1970. */
  readonly modified: number
  readonly size: number
}

interface Entry {
  readonly seconds: number
  /** Infinity means all. */
  records: number
  /** The listing in which it was seen last. */
  listing: number
}

const FILE = 'objects'
const ALL = 'all'
/** Maximum number of remembered objects. Beyond it, the least recently changed objects count as read. */
const MAX_OBJECTS = 200_000
/** The file is written again when it has this many lines more than twice as many as there are objects. */
const SPARE_LINES = 10_000
/** The line of the horizon. */
const HORIZON = 'horizon'

/** Remembers the objects of a prefix that were read. */
export class ObjectLedger {
  readonly #path: string
  readonly #max: number
  readonly #entries = new Map<string, Entry>()
  /** Objects that were changed before this time count as read, seconds since 1970. */
  #horizon = 0
  #lines = 0
  #listing = 0
  /** The file has an object that was forgotten. */
  #isStale = false
  #file: fs.FileHandle

  private constructor(path: string, file: fs.FileHandle, max: number) {
    this.#path = path
    this.#file = file
    this.#max = max
  }

  /** Opens the ledger of a run in its folder. */
  static async open(folder: string, max = MAX_OBJECTS): Promise<ObjectLedger> {
    const path = join(folder, FILE)
    const text = await fs.readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
      return ''
    })
    const ledger = new ObjectLedger(path, await fs.open(path, 'a', 0o600), max)
    // A line without its end was torn by a crash.
    const whole = text.slice(0, text.lastIndexOf('\n') + 1)
    for (const line of whole.split('\n')) ledger.#read(line)
    if (whole.length < text.length) await ledger.#rewrite()
    return ledger
  }

  /** Objects that were read to their end. */
  get size(): number {
    let size = 0
    for (const { records } of this.#entries.values()) size += Number(records === Infinity)
    return size
  }

  /** Returns how many records of an object are safe already. Undefined if it was read to its end. */
  progress(object: StoredObject): number | undefined {
    const entry = this.#entries.get(idOf(object))
    if (entry !== undefined) entry.listing = this.#listing
    if (entry === undefined) return secondsOf(object) < this.#horizon ? undefined : 0
    return entry.records === Infinity ? undefined : entry.records
  }

  /** Stores how many records of an object are safe; Infinity for all. Durable when it resolves. */
  async save(object: StoredObject, records: number): Promise<void> {
    const id = idOf(object)
    const seconds = secondsOf(object)
    this.#entries.set(id, { seconds, records, listing: this.#listing })
    await this.#append(lineOf(id, seconds, records))
    if (this.#lines > 2 * this.#entries.size + SPARE_LINES) await this.#rewrite()
  }

  /** Forgets an object whose rest is lost, so that {@link listed} does not count it again. */
  forget(object: StoredObject): void {
    if (this.#entries.delete(idOf(object))) this.#isStale = true
  }

  /**
   * Forgets objects that the last listing did not have, and the oldest ones beyond the limit. Call it after a whole
   * listing. Returns how many of the missing objects were not read to their end.
   */
  async listed(): Promise<number> {
    const before = this.#entries.size
    let unread = 0
    for (const [id, { listing, records }] of this.#entries) {
      if (listing >= this.#listing) continue
      this.#entries.delete(id)
      unread += Number(records !== Infinity)
    }
    this.#listing++
    const over = this.#entries.size - this.#max
    if (over > 0) {
      const oldest = [...this.#entries].sort(([, a], [, b]) => a.seconds - b.seconds).slice(0, over)
      for (const [id, { seconds }] of oldest) {
        this.#entries.delete(id)
        this.#horizon = Math.max(this.#horizon, seconds + 1)
      }
    }
    if (this.#isStale || this.#entries.size < before) await this.#rewrite()
    return unread
  }

  async close(): Promise<void> {
    await this.#file.close()
  }

  #read(line: string): void {
    const [id = '', seconds = '', records = ''] = line.split(' ')
    if (records === '') return
    this.#lines++
    if (id === HORIZON) this.#horizon = Number(seconds)
    else
      this.#entries.set(id, {
        seconds: Number(seconds),
        records: records === ALL ? Infinity : Number(records),
        listing: -1,
      })
  }

  async #append(line: string): Promise<void> {
    await this.#file.appendFile(line)
    await this.#file.datasync()
    this.#lines++
  }

  async #rewrite(): Promise<void> {
    const entries = [...this.#entries].map(([id, { seconds, records }]) => lineOf(id, seconds, records))
    const lines = [`${HORIZON} ${this.#horizon} ${ALL}\n`, ...entries]
    await writeDurably(fs, this.#path, lines.join(''))
    await this.#file.close()
    this.#file = await fs.open(this.#path, 'a')
    this.#lines = lines.length
    this.#isStale = false
  }
}

const secondsOf = ({ modified }: StoredObject): number => Math.floor(modified / 1000)

const idOf = ({ key, etag }: StoredObject): string =>
  createHash('sha256').update(`${key}\0${etag}`).digest('base64url').slice(0, 16)

const lineOf = (id: string, seconds: number, records: number): string =>
  `${id} ${seconds} ${records === Infinity ? ALL : records}\n`
