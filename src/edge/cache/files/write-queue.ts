import type { Entry } from '../entries/entry.js'

const MAX_WRITES = 32
/** Maximum responses that wait to be written. Further ones stay in memory only. */
const MAX_QUEUED = 1024

/** A response that is written into a file. */
export interface Write {
  readonly entry: Entry
  readonly name: string
  readonly isReserve: boolean
  isCancelled: boolean
}

/** Is called as the bytes of a body are taken. */
type Progressed = (() => void) | undefined

/** Begins a write and calls `ended` at its end. Returns false if there is nothing to write. */
type Begin = (write: Write, ended: () => void, progressed: Progressed) => boolean

/**
 * Writes of the disk tier. Only a few run concurrently, and only the last write of each file counts. The body of each
 * is retained until its write begins.
 */
export class WriteQueue {
  readonly #begin: Begin
  /** The last write of each file. */
  readonly #last = new Map<string, Write>()
  readonly #waiting: Write[] = []
  #running = 0
  #isClosed = false
  #idle: (() => void) | undefined

  constructor(begin: Begin) {
    this.#begin = begin
  }

  /** Adds a write, which replaces an earlier one of the same file. Has no effect if too many wait. */
  add(write: Write, progressed: Progressed): void {
    const { entry, name } = write
    const earlier = this.#last.get(name)
    const isFull = this.#running >= MAX_WRITES
    if (this.#isClosed || (isFull && this.#waiting.length >= MAX_QUEUED)) return
    // Bytes that are not in memory cannot wait, and one writer for these bytes is enough.
    if (!entry.body.complete && (isFull || (earlier && !earlier.isCancelled))) return
    if (earlier) earlier.isCancelled = true
    this.#last.set(name, write)
    entry.body.retain()
    if (isFull) this.#waiting.push(write)
    else this.#start(write, progressed)
  }

  /** Cancels the writes of these responses, also those that have begun. */
  cancel(covers: (entry: Entry) => boolean): void {
    for (const write of this.#last.values()) if (covers(write.entry)) write.isCancelled = true
  }

  /** Resolves when the writes that have begun are over. Begins no others. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { entry } of this.#waiting.splice(0)) entry.body.release()
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#idle = resolve))
  }

  #start(write: Write, progressed?: Progressed): void {
    this.#running++
    const ended = () => {
      this.#ended(write)
      this.#next()
    }
    if (!this.#begin(write, ended, progressed)) this.#ended(write)
  }

  #ended(write: Write): void {
    this.#running--
    if (this.#last.get(write.name) === write) this.#last.delete(write.name)
  }

  #next(): void {
    if (this.#running === 0) this.#idle?.()
    while (this.#running < MAX_WRITES) {
      const write = this.#waiting.shift()
      if (!write) return
      this.#start(write)
    }
  }
}
