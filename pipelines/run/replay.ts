/**
 * Sends the lines of a dead letter file to a destination again. The position in the file is stored after each batch. A
 * run that continues sends the batch in progress again, under the same name. Lines that fail again are written to a
 * file next to it.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { setMaxListeners } from 'node:events'
import { promisify } from 'node:util'
import { gunzipSync, gzip } from 'node:zlib'
import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import type { Batch, Sink } from '../../src/core/sink.js'
import { writeDurably } from '../../src/disk/durable-write.js'
import { bodyOf, type DeadLetter } from '../logpush/dead-letter.js'
import { Delivery } from '../logpush/delivery.js'
import { JobSignal } from '../logpush/job-signal.js'
import { Uploads } from '../logpush/uploads.js'
import { damageMessage, isDamage } from '../sources/lines/damage.js'
import { gunzipped } from '../sources/lines/gzip-recovery.js'

const gzipped = promisify(gzip)

const BATCH_RECORDS = 1000
const BATCH_BYTES = 4 * 2 ** 20
/** Maximum bytes of a line. Records have at most 1 MiB, and their text is at most twice as long. */
const MAX_LINE_BYTES = 16 * 2 ** 20
const ATTEMPT_MS = 120_000
const STATE = 'state.json'
const LINE_FEED = 0x0a

export interface ReplayOptions {
  readonly path: string
  /** Whether each line is a record. If not, the file is sent as one batch. */
  readonly isLines: boolean
  readonly sink: Sink
  /** Names the destination, without secrets. */
  readonly destination: string
  /** Existing folder for the state. */
  readonly folder: string
  /** A destination that fails for this long ends the run. */
  readonly retryForMs: number
  readonly failing: (message: string) => void
  /** Called with a message about how the state of an earlier run affects this one. */
  readonly note: (message: string) => void
  readonly progress: (stats: ReplayStats) => void
  readonly stop: AbortSignal
  readonly clock: Clock
  readonly log: Log
}

export interface ReplayStats {
  /** Records of the file read so far, including records read by earlier runs. */
  read: number
  delivered: number
  /** Records that the destination rejected again. They are in the file next to the original. */
  failed: number
  batches: number
}

interface State extends ReplayStats {
  /** Identifies the content. */
  readonly digest: string
  readonly destination?: string
  /** Bytes of the text of the file that are done. */
  readonly offset: number
  /** Bytes of the file with failed records. */
  readonly failedBytes: number
}

/** Returns the path of the file for records that failed again. */
export const failedFile = (path: string): string => `${path}.failed`

/**
 * Result of a run, with the reason if it ended before the end of the file, and a note about the content of a damaged
 * file.
 */
interface Replayed extends ReplayStats {
  readonly ended?: string
  readonly damage?: string
}

/** Sends the rest of a file, up to the first damage. */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { stop } = options
  const batches = await Batches.open(options)
  const end = () => batches.fate.stop('stopped')
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  let damage: string | undefined
  try {
    await sendLines(options, batches, (message) => void (damage = message))
  } finally {
    stop.removeEventListener('abort', end)
    batches.fate.close()
  }
  const { read, delivered, failed, batches: count } = batches.state
  const { ended } = batches.fate
  const outcome = { ...(ended !== undefined && { ended }), ...(damage !== undefined && { damage }) }
  return { read, delivered, failed, batches: count, ...outcome }
}

/** Divides the lines that are not done yet into batches and sends them. */
async function sendLines(
  { path, isLines, sink }: ReplayOptions,
  batches: Batches,
  damaged: (message: string) => void,
): Promise<void> {
  const records = Math.min(BATCH_RECORDS, sink.limits.records ?? Infinity)
  const bytes = Math.min(BATCH_BYTES, sink.limits.bytes ?? Infinity)
  let batch: Uint8Array[] = []
  let size = 0
  let at = 0
  for await (const line of linesOf(path, isLines, damaged)) {
    // A part of a batch that was split can be done.
    if (at >= batches.state.offset) {
      if (batch.length >= records || (batch.length > 0 && size + line.length > bytes)) {
        if (!(await batches.send(batch, at - size))) return
        batch = []
        size = 0
      }
      batch.push(line)
      size += line.length
    }
    at += line.length
  }
  if (batch.length > 0 && !batches.fate.over.aborted) await batches.send(batch, at - size)
}

/** Sends batches, one after the other, and stores how far the file is done. */
class Batches {
  readonly fate: Fate
  readonly #options: ReplayOptions
  readonly #delivery: Delivery
  /** Records of the batch in progress that the destination rejected. */
  #rejected = 0
  #state: State

  private constructor(options: ReplayOptions, state: State) {
    const { path, sink, clock, log } = options
    this.#options = options
    this.#state = state
    const control = new JobSignal()
    this.fate = new Fate(options, control)
    const deadLetter: DeadLetter = {
      keeps: true,
      keep: async ({ body, records }) => {
        await appendDurably(failedFile(path), plain(await body.bytes(), body.encoding))
        this.#rejected += records
        return records
      },
      pathOf: () => failedFile(path),
      close: async () => {},
    }
    const metrics = { attempt() {}, delivered() {}, dropped() {} }
    const job = { id: 'replay', sink, destination: 'destination', control, metrics, failed: async () => {} }
    const uploads = new Uploads({ atOnce: 1, perDestination: 1, timeoutMs: ATTEMPT_MS }, { clock, log })
    this.#delivery = new Delivery(
      { ...job, status: this.fate },
      { uploads, deadLetter, clock, log, random: Math.random },
    )
  }

  /** Continues where an earlier run of the same content to the same destination ended. */
  static async open(options: ReplayOptions): Promise<Batches> {
    const { path, folder, destination, note } = options
    const digest = await digestOf(path)
    const found = await readState(folder)
    const begin = { digest, destination, offset: 0, failedBytes: 0, read: 0, delivered: 0, failed: 0, batches: 0 }
    const known = found?.digest === digest ? found : undefined
    const isSame = (known?.destination ?? destination) === destination
    const state = known !== undefined && isSame ? known : begin
    if (!isSame) note(`starting over: the state in ${folder} belongs to a run to ${known?.destination}`)
    if (state.read > 0) note(`an earlier run sent ${state.read} records, which are not sent again; see ${folder}`)
    // Bytes that were written after the state was stored are written again.
    if (state.failedBytes > 0) await fs.truncate(failedFile(path), state.failedBytes)
    else await fs.rm(failedFile(path), { force: true })
    return new Batches(options, state)
  }

  get state(): State {
    return this.#state
  }

  /** Sends the lines at `offset`, in halves if they are too large. Returns false if the run ended before. */
  async send(lines: readonly Uint8Array[], offset: number): Promise<boolean> {
    const { sink, clock } = this.#options
    const text = Buffer.concat(lines)
    const name = `replay_${this.#state.digest.slice(0, 12)}_${String(offset).padStart(12, '0')}_${lines.length}`
    const bytes = sink.encoding === 'gzip' ? await gzipped(text) : text
    const now = new Date(clock.now())
    const range = { from: now, to: now, first: { position: offset, skip: 0 }, end: { position: offset, skip: 0 } }
    const body = { ...bodyOf(bytes, sink.encoding), discard: async () => {} }
    this.#rejected = 0
    const outcome = await this.#delivery.deliver(
      { ...range, name, records: lines.length, size: text.length, body, isOne: lines.length === 1 },
      this.fate.over,
    )
    if (outcome === 'interrupted') return false
    this.fate.delivered()
    if (outcome === 'split') {
      const middle = Math.ceil(lines.length / 2)
      const first = lines.slice(0, middle)
      const through = offset + first.reduce((sum, line) => sum + line.length, 0)
      return (await this.send(first, offset)) && (await this.send(lines.slice(middle), through))
    }
    await this.#done(lines.length, offset + text.length)
    return true
  }

  async #done(records: number, offset: number): Promise<void> {
    const { path, folder, destination, progress } = this.#options
    const { digest, read, delivered, failed, batches } = this.#state
    const counts = {
      read: read + records,
      delivered: delivered + records - this.#rejected,
      failed: failed + this.#rejected,
      batches: batches + 1,
    }
    const failedBytes = counts.failed > 0 ? (await fs.stat(failedFile(path))).size : 0
    this.#state = { digest, destination, offset, failedBytes, ...counts }
    await writeDurably(fs, join(folder, STATE), JSON.stringify(this.#state))
    progress(this.#state)
  }
}

async function readState(folder: string): Promise<State | undefined> {
  try {
    return JSON.parse(await fs.readFile(join(folder, STATE), 'utf8')) as State
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`${join(folder, STATE)} cannot be read: ${messageOf(error)}; remove it to begin again`, {
      cause: error,
    })
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function appendDurably(path: string, text: Uint8Array): Promise<void> {
  const file = await fs.open(path, 'a', 0o640)
  try {
    await file.writeFile(text)
    await file.datasync()
  } finally {
    await file.close()
  }
}

/** // Batches are compressed here so that a batch rejected as a whole is returned in plain text. */
const plain = (bytes: Uint8Array, encoding: Batch['body']['encoding']): Uint8Array =>
  encoding === 'gzip' ? gunzipSync(bytes) : bytes

/**
 * Yields the lines of a file, gzip or not, with their line feeds, or the whole file. Calls `damaged` if the lines end
 * at damage. Throws if a file that is read as a whole is damaged.
 */
export async function* linesOf(
  path: string,
  isLines: boolean,
  damaged: (message: string) => void,
): AsyncGenerator<Uint8Array> {
  const head = await fs.open(path)
  const { bytesRead, buffer } = await head.read(Buffer.alloc(2), 0, 2, 0)
  await head.close()
  const isGzip = bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
  const stream: AsyncIterable<Uint8Array> = isGzip ? gunzipped(createReadStream(path)) : createReadStream(path)
  let rest: Uint8Array[] = []
  let size = 0
  let through = 0
  let lines = 0
  try {
    for await (const chunk of stream) {
      let from = 0
      for (let at = isLines ? chunk.indexOf(LINE_FEED) : -1; at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        const line = Buffer.concat([...rest, chunk.subarray(from, at + 1)])
        rest = []
        size = 0
        from = at + 1
        lines++
        through += line.length
        yield line
      }
      rest.push(chunk.subarray(from))
      size += chunk.length - from
      if (size > MAX_LINE_BYTES) throw new Error(`${path} has a record of more than ${MAX_LINE_BYTES} bytes`)
    }
  } catch (error) {
    if (!isLines || !isDamage(error)) throw error
    return damaged(damageMessage(error, lines, through))
  }
  if (size > 0) yield Buffer.concat(isLines ? [...rest, Buffer.from('\n')] : rest)
}

/** Whether and why the run ends before the file does. */
class Fate {
  failing = false
  ended: string | undefined
  readonly #options: ReplayOptions
  readonly #control: JobSignal
  readonly #over = new AbortController()
  #recovered = new AbortController()
  #message = ''

  constructor(options: ReplayOptions, control: JobSignal) {
    this.#options = options
    this.#control = control
    setMaxListeners(0, this.#over.signal)
  }

  get over(): AbortSignal {
    return this.#over.signal
  }

  delivered(): void {
    this.failing = false
    this.#recovered.abort()
  }

  failed(message: string): void {
    this.#message = message
    if (this.failing) return
    this.failing = true
    this.#recovered = new AbortController()
    this.#options.failing(message)
    const { clock, retryForMs } = this.#options
    clock.sleep(retryForMs, this.#recovered.signal).then(
      () => this.stop(this.#message),
      () => {},
    )
  }

  stop(why: string): void {
    this.ended ??= why
    this.#over.abort()
    this.#control.end('shutdown')
  }

  close(): void {
    this.#recovered.abort()
  }
}
