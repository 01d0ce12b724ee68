import { Queue } from '../entries/queue.js'

/** Hits that count for the decision. */
const MAX_HITS = 3
const SMALL_SHARE = 0.1

/** One file. */
interface DiskRecord {
  readonly name: string
  bytes: number
  hits: number
  isMain: boolean
  /** Its response is evicted last, because a rule made it eligible for the reserve. */
  isReserve: boolean
  before: DiskRecord | undefined
  after: DiskRecord | undefined
}

/**
 * The files of the disk tier with their sizes, and which one leaves next: S3-FIFO as in memory, so that responses that are
 * requested once do not displace others.
 */
export class DiskIndex {
  readonly #records = new Map<string, DiskRecord>()
  readonly #small = new Queue<DiskRecord>()
  readonly #main = new Queue<DiskRecord>()

  get count(): number {
    return this.#records.size
  }

  get bytes(): number {
    return this.#small.bytes + this.#main.bytes
  }

  has(name: string): boolean {
    return this.#records.has(name)
  }

  names(): IterableIterator<string> {
    return this.#records.keys()
  }

  /** Adds a file, or replaces its size. */
  set(name: string, bytes: number, { isReserve = false, isMain = false } = {}): void {
    this.delete(name)
    const record = { name, bytes, hits: 0, isMain: isMain || isReserve, isReserve, before: undefined, after: undefined }
    this.#records.set(name, record)
    this.#queue(record).push(record, bytes)
  }

  hit(name: string): void {
    const record = this.#records.get(name)
    if (record && record.hits < MAX_HITS) record.hits++
  }

  delete(name: string): boolean {
    const record = this.#records.get(name)
    if (!record) return false
    this.#records.delete(name)
    this.#queue(record).remove(record, record.bytes)
    return true
  }

  /** Removes and returns the file that leaves next. */
  evict(limit: number): string | undefined {
    for (;;) {
      const fromSmall = this.#small.first && (this.#small.bytes > limit * SMALL_SHARE || !this.#main.first)
      const record = fromSmall ? this.#small.first : (this.#main.first ?? this.#small.first)
      if (!record) return undefined
      if (record.hits === 0 && !record.isReserve) {
        this.delete(record.name)
        return record.name
      }
      // Each round takes one hit or the reserve's privilege, so this ends.
      this.#queue(record).remove(record, record.bytes)
      if (!record.isMain) record.hits = 0
      else if (record.hits > 0) record.hits--
      else record.isReserve = false
      record.isMain = true
      this.#main.push(record, record.bytes)
    }
  }

  #queue(record: DiskRecord): Queue<DiskRecord> {
    return record.isMain ? this.#main : this.#small
  }
}
