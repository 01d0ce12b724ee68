import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { Redis } from 'ioredis'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { collectedMetrics } from '../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { HistoryPart } from '../../history/part.js'

const KEY = 'edged:history'
/** Entries of all machines that Redis keeps: 16 minutes of one machine with many zones, hours of a small one. */
const MAX_ENTRIES = 1000
/** Bytes of the cells of one entry, before they are compressed to about a third. */
const MAX_ENTRY_BYTES = 256 * 1024
/** Cells that wait while Redis cannot be reached. Later ones are not sent. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024
const INTERVAL_MS = 5000
const ENTRIES_READ = 50

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

export interface HistoryExchangeDeps {
  readonly redis: Redis
  /** Distinguishes this machine from the others. */
  readonly machine: string
  /** Adds counts of another machine. */
  readonly add: (parts: readonly HistoryPart[]) => Promise<void>
  /** The id of the last entry that was read, over restarts. */
  readonly place: { read(): Promise<string | undefined>; write(id: string): Promise<void> }
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/**
 * Exchanges counts with the other machines on the same Redis. Each machine appends its cells to one stream and adds the
 * cells of the others to its own history, so that every machine answers for all of them from its own disk.
 */
export class HistoryExchange {
  readonly #deps: HistoryExchangeDeps
  #waiting: HistoryPart[] = []
  #waitingBytes = 0
  #dropped = 0
  #isConnected = false
  /** One exchange at a time. */
  #ticking: Promise<void> = Promise.resolve()
  /** The id of the last entry that was read. */
  #last = '0'
  readonly #closing = new AbortController()
  readonly #running: Promise<void>

  constructor(deps: HistoryExchangeDeps) {
    this.#deps = deps
    collectedMetrics(deps.metrics).counter(
      'edged_history_exchange_dropped_total',
      'Counts of a zone over 10 s that were not sent to the other machines because Redis could not be reached for too long.',
      () => this.#dropped,
    )
    this.#running = this.#run()
  }

  /** Whether the counts of the other machines arrive. */
  get isConnected(): boolean {
    return this.#isConnected
  }

  /** Sends counts of this machine to the others, some seconds later. */
  publish(parts: readonly HistoryPart[]): void {
    for (const part of parts) {
      if (this.#waitingBytes > MAX_WAITING_BYTES) {
        this.#dropped++
        continue
      }
      this.#waitingBytes += part.cell.length
      this.#waiting.push(part)
    }
  }

  /** Sends the rest. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#send().catch(() => undefined)
    this.#deps.redis.disconnect()
  }

  /** Sends and receives counts. Runs by itself every 5 s. */
  async tick(): Promise<void> {
    const exchange = async (): Promise<void> => {
      await this.#send()
      await this.#receive()
    }
    const next = this.#ticking.then(exchange)
    this.#ticking = next.catch(() => undefined)
    await next
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.tick()
        this.#isConnected = true
      } catch (error) {
        if (this.#isConnected) log.warn({ event: 'history_not_exchanged', error: messageOf(error) })
        this.#isConnected = false
      }
      await clock.sleep(INTERVAL_MS, signal).catch(() => undefined)
    }
  }

  async #send(): Promise<void> {
    const { redis, machine } = this.#deps
    while (this.#waiting.length > 0) {
      let bytes = 0
      let count = 0
      while (count < this.#waiting.length && bytes < MAX_ENTRY_BYTES) bytes += this.#waiting[count++]!.cell.length
      const parts = this.#waiting.slice(0, count)
      await redis.xadd(KEY, 'MAXLEN', '~', MAX_ENTRIES, '*', 'machine', machine, 'cells', await encode(parts))
      this.#waiting = this.#waiting.slice(count)
      this.#waitingBytes -= bytes
    }
  }

  async #receive(): Promise<void> {
    const { redis, machine, add, place } = this.#deps
    // A new machine begins with the entries that are there: they are of the last minutes.
    let last = (await place.read()) ?? this.#last
    for (;;) {
      const found = await redis.xreadBuffer('COUNT', ENTRIES_READ, 'STREAMS', KEY, last)
      const entries = found?.[0]?.[1] ?? []
      for (const [id, fields] of entries) {
        const [, from, , cells] = fields
        if (from !== undefined && cells !== undefined && from.toString() !== machine) await add(await decode(cells))
        last = id.toString()
      }
      this.#last = last
      if (entries.length > 0) await place.write(last)
      if (entries.length < ENTRIES_READ) return
    }
  }
}

type SentPart = Omit<HistoryPart, 'cell'> & { readonly cell: string }

async function encode(parts: readonly HistoryPart[]): Promise<Buffer> {
  const sent: SentPart[] = parts.map(({ cell, ...part }) => ({ ...part, cell: Buffer.from(cell).toString('latin1') }))
  return await deflate(JSON.stringify(sent))
}

async function decode(bytes: Buffer): Promise<HistoryPart[]> {
  const sent = JSON.parse((await inflate(bytes)).toString()) as readonly SentPart[]
  return sent.map(({ cell, ...part }) => ({ ...part, cell: Buffer.from(cell, 'latin1') }))
}
