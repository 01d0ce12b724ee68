/**
 * The request log: the last requests of each zone on disk. A finished request costs its client nothing but a choice and a
 * push. Its record is encoded and written with the records of the next 250 ms.
 */
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import type { HistoryConfig } from '../../../config/schema.js'
import type { Clock } from '../../../core/clock.js'
import { messageOf } from '../../../core/errors.js'
import type { Log } from '../../../core/log.js'
import { collectedMetrics } from '../../../core/metrics/collected-metrics.js'
import type { Metrics } from '../../../core/metrics/metrics.js'
import { EventLoopYield } from '../../../core/schedule/event-loop-yield.js'
import type { GeoLookup } from '../../../rules/types.js'
import type { Exchange } from '../../exchange/exchange.js'
import type { FinishedObserver } from '../../exchange/finished.js'
import { lineOf, type KeptExchange } from './recorded.js'
import { keptRequests } from './old-requests.js'
import { Ring, type Batch } from './ring.js'
import { ZoneSample } from './sampling.js'

/** Returns the folder of the request log in the data folder. */
export const requestFolder = (data: string): string => join(data, 'requests')

const INTERVAL_MS = 250
/** Requests that wait to be written. Further ones are dropped and counted. */
const MAX_WAITING = 10_000
/** Files that are open at once. */
const MAX_FILES = 64
/** Zones whose place is remembered. */
const MAX_RINGS = 10_000
/** Records that are encoded between two pauses. */
const ENCODED = 32
/** Minimum time between two log lines about a disk that accepts no records. */
const REPORT_MS = 60_000

export interface RequestLogDeps {
  /** Has a folder for each zone. */
  readonly folder: string
  /** Number of this process, and how many there are. */
  readonly process: number
  readonly processes: number
  readonly geo: GeoLookup
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Writes the finished requests of one process. */
export class RequestLog implements FinishedObserver {
  readonly #deps: RequestLogDeps
  #samples = new Map<string, ZoneSample>()
  readonly #rings = new LRUCache<string, Ring>({ max: MAX_RINGS, dispose: (ring) => void ring.close() })
  /** Rings with an open file. */
  readonly #files = new LRUCache<string, Ring>({ max: MAX_FILES, dispose: (ring) => this.#released(ring) })
  readonly #slices = new EventLoopYield()
  #options: HistoryConfig
  #waiting: KeptExchange[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #releasing: Promise<void> = Promise.resolve()
  #inBatch = 0
  #records = 0
  #dropped = 0
  #reportedAt = -Infinity

  constructor(options: HistoryConfig, deps: RequestLogDeps) {
    this.#options = options
    this.#deps = deps
    const { counter } = collectedMetrics(deps.metrics)
    counter('edged_request_log_records_total', 'Finished requests written to the request log.', () => this.#records)
    counter(
      'edged_request_log_dropped_total',
      'Records that the request log lost because the disk was too slow or accepted none.',
      () => this.#dropped,
    )
  }

  finished(exchange: Exchange): void {
    if (this.#options.requests === 0) return
    const interval = this.#intervalOf(exchange)
    if (interval === 0) return
    if (this.#waiting.length + this.#inBatch >= MAX_WAITING) {
      this.#dropped++
      return
    }
    const endedMonotonic = exchange.sent.endedAt ?? this.#deps.clock.monotonic()
    this.#waiting.push({ exchange, endedMonotonic, interval })
    this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS).unref()
  }

  /** Applies new options to later requests. */
  configure(options: HistoryConfig): void {
    this.#options = options
  }

  /** Writes what waits and closes the files. */
  async close(): Promise<void> {
    clearTimeout(this.#timer)
    this.#flush()
    await this.#writing
    await Promise.all([...this.#rings.values()].map(async (ring) => await ring.close().catch(() => undefined)))
    await this.#releasing
  }

  #intervalOf({ zone, sent, matches, agent }: Exchange): number {
    let sample = this.#samples.get(zone.id)
    if (!sample) this.#samples.set(zone.id, (sample = new ZoneSample(this.#deps.processes)))
    const isImportant = sent.status >= 500 || matches.length > 0 || agent !== undefined
    return sample.intervalOf(Math.floor((sent.endedAt ?? this.#deps.clock.monotonic()) / 1000), isImportant)
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#waiting.length === 0) return
    const kept = this.#waiting
    this.#waiting = []
    this.#inBatch += kept.length
    this.#writing = this.#written(this.#writing, kept)
    if (this.#samples.size > MAX_RINGS) this.#samples.clear()
  }

  async #written(before: Promise<void>, kept: readonly KeptExchange[]): Promise<void> {
    await before
    await this.#write(kept)
    this.#inBatch -= kept.length
  }

  /** Never rejects. */
  async #write(kept: readonly KeptExchange[]): Promise<void> {
    for (const [zone, { lines, records }] of await this.#encoded(kept)) {
      try {
        await this.#append(zone, { lines: Buffer.from(lines.join('')), records })
        this.#records += records
      } catch (error) {
        this.#dropped += records
        this.#failed(error)
      }
    }
  }

  async #encoded(kept: readonly KeptExchange[]) {
    const zones = new Map<string, { lines: string[]; records: number }>()
    for (const [at, one] of kept.entries()) {
      if (at % ENCODED === 0) await this.#slices.yieldToEventLoop()
      const { id } = one.exchange.zone
      let batch = zones.get(id)
      if (!batch) zones.set(id, (batch = { lines: [], records: 0 }))
      const country = this.#deps.geo.find(one.exchange.clientAddress).city?.country?.iso_code
      batch.lines.push(lineOf(one, country, this.#options))
      batch.records++
    }
    return zones
  }

  async #append(zone: string, batch: Batch): Promise<void> {
    const { folder, process, clock } = this.#deps
    let ring = this.#rings.get(zone)
    if (!ring) this.#rings.set(zone, (ring = new Ring(join(folder, zone), process, fs)))
    await this.#releasing
    await ring.append(batch, keptRequests(this.#options), Math.floor(clock.now()))
    if (ring.isOpen) this.#files.set(zone, ring)
    else this.#files.delete(zone)
  }

  #released(ring: Ring): void {
    this.#releasing = Promise.all([this.#releasing, ring.release().catch(() => undefined)]).then(() => undefined)
  }

  #failed(error: unknown): void {
    const { clock, log } = this.#deps
    if (clock.monotonic() - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = clock.monotonic()
    log.error({ event: 'request_log_failed', error: messageOf(error) }, 'the request log loses records')
  }
}
