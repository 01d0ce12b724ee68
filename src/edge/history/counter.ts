import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import { SectionWriter } from '../../history/codec.js'
import { CELL_MS, MAX_ZONES, OTHER_ZONES } from '../../history/layout.js'
import type { HistoryPart, HistorySink } from '../../history/part.js'
import { RowPool } from '../../history/rows.js'
import type { Exchange } from '../exchange/exchange.js'
import type { FinishedObserver } from '../exchange/finished.js'
import type { GeoLookup } from '../../rules/types.js'
import { ZoneCounts } from './zone-counts.js'

/** Rows of all zones, of 850 bytes each: at most 43 MB. Further values are counted with the others of their zone. */
const MAX_ROWS = 50_000
/** Zones that are sent together. */
const BATCH = 100

export interface HistoryCounterDeps {
  readonly history: HistorySink
  readonly geo: GeoLookup
  readonly clock: Clock
  readonly log: Log
}

/** Counts finished requests of this process by zone, and sends the counts at the end of each cell of 10 s. */
export class HistoryCounter implements FinishedObserver {
  readonly #deps: HistoryCounterDeps
  readonly #pool = new RowPool(MAX_ROWS)
  readonly #slices = new EventLoopYield()
  #zones = new Map<string, ZoneCounts>()
  /** The last zone, which is usually the next one. */
  #last: { readonly id: string; readonly counts: ZoneCounts } | undefined
  #isEnabled = false
  #began: number
  #sending: Promise<void> = Promise.resolve()
  readonly #closing = new AbortController()
  readonly #running: Promise<void>

  constructor(deps: HistoryCounterDeps) {
    this.#deps = deps
    this.#began = this.#cell()
    this.#running = this.#run()
  }

  /** Whether requests are counted. Earlier counts are sent. */
  set isEnabled(isEnabled: boolean) {
    this.#isEnabled = isEnabled
  }

  finished(exchange: Exchange): void {
    if (!this.#isEnabled) return
    const { zone, clientAddress, startedMonotonic, sent } = exchange
    const { geo, clock } = this.#deps
    const last = this.#last
    const counts = last !== undefined && last.id === zone.id ? last.counts : this.#of(zone.id, zone.accountId)
    const country = geo.find(clientAddress).city?.country?.iso_code
    counts.count(exchange, (sent.endedAt ?? clock.monotonic()) - startedMonotonic, country)
  }

  /** Sends the counts. Resolves when a query sees it. */
  async flush(): Promise<void> {
    this.#sending = this.#sending.then(async () => await this.#send())
    await this.#sending
  }

  /** Sends the rest. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.flush()
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      await clock.sleep(CELL_MS - (clock.now() % CELL_MS), signal).catch(() => undefined)
      if (!signal.aborted) await this.flush()
    }
  }

  #of(id: string, account: string): ZoneCounts {
    let key = id
    let counts = this.#zones.get(id)
    if (counts === undefined) {
      // The other zones of each account are counted together.
      key = this.#zones.size < MAX_ZONES ? id : `${OTHER_ZONES} ${account}`
      counts = this.#zones.get(key) ?? new ZoneCounts(account, this.#pool)
      this.#zones.set(key, counts)
    }
    this.#last = { id, counts }
    return counts
  }

  async #send(): Promise<void> {
    const time = this.#began
    this.#began = this.#cell()
    const zones = this.#zones
    if (zones.size === 0) return
    this.#zones = new Map()
    this.#last = undefined
    const writer = new SectionWriter()
    const section = new SectionWriter()
    let parts: HistoryPart[] = []
    for (const [key, counts] of zones) {
      const zone = key.startsWith(`${OTHER_ZONES} `) ? OTHER_ZONES : key
      parts.push({ time, zone, account: counts.account, cell: counts.take(writer, section) })
      counts.release()
      if (parts.length >= BATCH) {
        await this.#add(parts)
        parts = []
      }
      await this.#slices.yieldToEventLoop()
    }
    await this.#add(parts)
  }

  async #add(parts: readonly HistoryPart[]): Promise<void> {
    if (parts.length === 0) return
    try {
      await this.#deps.history.add(parts)
    } catch (error) {
      // The counts of these seconds are lost. Requests go on.
      this.#deps.log.warn({ event: 'history_lost', zones: parts.length, error: messageOf(error) })
    }
  }

  #cell(): number {
    const now = this.#deps.clock.now()
    return now - (now % CELL_MS)
  }
}
