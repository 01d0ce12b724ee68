import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Column } from './columns.js'

/** A part of a file for the thread. Without `text` the file is discarded. */
export interface ToThread {
  readonly id: number
  /** With the first part. */
  readonly columns?: readonly Column[] | undefined
  readonly text?: Uint8Array | undefined
  readonly last?: boolean
}

/** Bytes of a file that are ready, with the row groups that were written for them and the time of the thread. */
export interface EncodedPart {
  readonly bytes: Uint8Array
  readonly groups: number
  readonly ms: number
}

/** Response of the thread to one message, in order. */
export type FromThread = { readonly id: number } & (EncodedPart | { readonly error: string })

const THREAD = new URL(`./parquet-thread${extname(import.meta.url)}`, import.meta.url)
/** Several row groups of open files. */
const MAX_MEGABYTES = 768

interface Waiting {
  readonly resolve: (part: EncodedPart) => void
  readonly reject: (error: Error) => void
}

/** Writes Parquet files in one thread, so that the event loop never waits for a row group. It starts with the first file. */
export class ParquetThread {
  #worker: Worker | undefined
  #files = 0
  /** Responses that are expected, by file and in order. */
  readonly #waiting = new Map<number, Waiting[]>()

  /** Opens a file with these columns. */
  open(columns: readonly Column[]): ParquetFile {
    return new ParquetFile(async (message) => await this.#send(message), this.#files++, columns)
  }

  async #send(message: ToThread): Promise<EncodedPart> {
    const worker = (this.#worker ??= this.#start())
    return await new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(message.id) ?? []
      waiting.push({ resolve, reject })
      this.#waiting.set(message.id, waiting)
      worker.ref()
      worker.postMessage(message, message.text === undefined ? [] : [message.text.buffer as ArrayBuffer])
    })
  }

  #start(): Worker {
    const worker = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES } })
    worker.on('message', (message: FromThread) => this.#receive(worker, message))
    const fail = (error: Error) => {
      if (this.#worker === worker) this.#worker = undefined
      const all = [...this.#waiting.values()].flat()
      this.#waiting.clear()
      for (const { reject } of all) reject(error)
    }
    worker.on('error', fail)
    worker.on('exit', () => fail(new Error('the thread that writes Parquet ended')))
    return worker
  }

  #receive(worker: Worker, message: FromThread): void {
    const waiting = this.#waiting.get(message.id) ?? []
    const next = waiting.shift()
    if (waiting.length === 0) this.#waiting.delete(message.id)
    // An idle thread does not keep the process alive.
    if (this.#waiting.size === 0) worker.unref()
    if ('error' in message) next?.reject(new Error(`cannot write Parquet: ${message.error}`))
    else next?.resolve(message)
  }
}

/** A Parquet file that is being written. */
export class ParquetFile {
  readonly #send: (message: ToThread) => Promise<EncodedPart>
  readonly #id: number
  #columns: readonly Column[] | undefined
  #isOpen = false

  constructor(send: (message: ToThread) => Promise<EncodedPart>, id: number, columns: readonly Column[]) {
    this.#send = send
    this.#id = id
    this.#columns = columns
  }

  /** Adds text, which can be changed as soon as this returns. Resolves with the bytes of the file that are ready. */
  async add(text: Uint8Array, last: boolean): Promise<EncodedPart> {
    const columns = this.#columns
    this.#columns = undefined
    this.#isOpen = !last
    return await this.#send({ id: this.#id, columns, text: Uint8Array.from(text), last })
  }

  async discard(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#send({ id: this.#id }).catch(() => {})
  }
}
