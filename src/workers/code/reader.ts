import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ScriptFormat } from '../../core/model/worker.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import { UploadRefused, type UploadIssue } from '../upload-errors.js'
import type { UploadedFile } from '../upload/form.js'
import { analyse, isRead, type CodeReport } from './analyse.js'
import { THREAD_STACK_MEGABYTES, TooDeep } from './parser.js'

/** Input of a thread. */
export interface CodeToRead {
  readonly format: ScriptFormat
  readonly main: UploadedFile
  readonly files: readonly UploadedFile[]
}

/** Result of a thread. */
export type CodeRead = { readonly report: CodeReport } | { readonly issues: readonly UploadIssue[] }

/** Larger code is read in a thread. The slowest code of this size takes some tens of milliseconds. */
const MAX_INLINE_BYTES = 16 * 1024
/** A syntax tree can need a hundred times the memory of its text. */
const MAX_MEGABYTES = 1024
const MAX_DURATION_MS = 120_000

const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url)

/**
 * Reads the code of uploads. Short code is read immediately. Longer or deeply nested code is read in a thread, one
 * upload after another, so that nothing else waits for it. Code that needs more than 1 GiB or two minutes is rejected.
 */
export class CodeReader {
  readonly #turns = new KeyedMutex()
  readonly #maxMegabytes: number
  #thread: Worker | undefined
  #closed = false

  constructor({ maxMegabytes = MAX_MEGABYTES }: { readonly maxMegabytes?: number } = {}) {
    this.#maxMegabytes = maxMegabytes
  }

  /** Reads code like {@link analyse}. */
  async analyse(format: ScriptFormat, main: UploadedFile, files: readonly UploadedFile[]): Promise<CodeReport> {
    const read = files.filter((file) => file === main || isRead(file))
    const size = read.reduce((sum, { bytes }) => sum + bytes.length, 0)
    if (size <= MAX_INLINE_BYTES) {
      try {
        return analyse(format, main, files)
      } catch (error) {
        if (!(error instanceof TooDeep)) throw error
      }
    }
    // Only the names of other files are needed.
    const sent = files.map((file) => (read.includes(file) ? file : { ...file, bytes: Buffer.alloc(0) }))
    return await this.#turns.run('', async () => await this.#inThread({ format, main, files: sent }))
  }

  /** Ends a running thread. Its upload fails. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#thread?.terminate()
  }

  async #inThread(code: CodeToRead): Promise<CodeReport> {
    if (this.#closed) throw new Error('the daemon stops')
    const thread = new Worker(THREAD, {
      workerData: code,
      resourceLimits: { maxOldGenerationSizeMb: this.#maxMegabytes, stackSizeMb: THREAD_STACK_MEGABYTES },
    })
    this.#thread = thread
    try {
      const read = await responseOf(thread)
      if ('report' in read) return read.report
      throw new UploadRefused(read.issues)
    } finally {
      this.#thread = undefined
      await thread.terminate()
    }
  }
}

/** Resolves with the result of a thread. Rejects with UploadRefused if its memory or time was not enough. */
async function responseOf(thread: Worker): Promise<CodeRead> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<CodeRead>((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', (error: NodeJS.ErrnoException) => {
        reject(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooMuch('memory') : error)
      })
      thread.once('exit', () => reject(new Error('the thread that reads code ended')))
      timer = setTimeout(() => reject(tooMuch('time')), MAX_DURATION_MS)
    })
  } finally {
    clearTimeout(timer)
  }
}

const tooMuch = (what: string): Error =>
  new UploadRefused([
    { kind: 'invalidScript', pointer: '/main_module', message: `the code takes too much ${what} to be read` },
  ])
