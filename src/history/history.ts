import type { Clock } from '../core/clock.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import { Cell } from './cell.js'
import { CellStore, RESOLUTIONS, type Resolution, type StoredSection } from './cell-store.js'
import { SectionReader } from './codec.js'
import { Coverage, type Span } from './coverage.js'
import { CELL_MS, DIMENSIONS, OTHER_ZONES, placeOf, PLACES, TOTAL } from './layout.js'
import type { HistoryPart, HistorySink } from './part.js'
import { retentionMs } from './retention.js'
import { RollUps } from './roll-ups.js'
import { makeSpace } from './space.js'

/** Cells of processes arrive within this time after their end. */
const GRACE_MS = 2000
/** Cells that could not be written are kept in memory for this long. */
const MAX_UNWRITTEN_MS = 60_000
/** Between two searches for counts that are too old, and for space. */
const SWEEP_MS = 10 * 60_000

export interface HistoryOptions {
  /** Days for which the counts of hours are kept. 0: nothing is kept. */
  readonly days: number
  readonly bytes: number
}

export interface HistoryDeps {
  readonly clock: Clock
  readonly log: Log
}

/** Sections of a query, one for each period with counts. */
export interface FoundSection {
  readonly time: number
  readonly bytes: Uint8Array
}

/** The scope of an account in the store. The scope of a zone is its id. */
export const accountScope = (id: string): string => `a-${id}`

export const isAccount = (scope: string): boolean => scope.startsWith('a-')

const [CELLS] = RESOLUTIONS
const BY_ZONE = placeOf('zone')

/**
 * The counts of requests over time: by zone and account, for 10 s each in the last hour, then for minutes, hours and
 * days. The counts of the last seconds are in memory, and queries see them.
 */
export class History implements HistorySink {
  readonly #deps: HistoryDeps
  readonly #folder: string
  readonly #slices = new EventLoopYield()
  #options: HistoryOptions
  /** Undefined while nothing is kept. */
  #store: CellStore | undefined
  #rollUps: RollUps | undefined
  #coverage: Coverage | undefined
  /** Cells that are not written, by their beginning, then by scope. */
  #open = new Map<number, Map<string, Cell>>()
  /** Times before are written. */
  #writtenUntil = 0
  #published: ((parts: readonly HistoryPart[]) => void) | undefined
  #sweptAt = -Infinity
  #reportedAt = -Infinity
  /** Tasks that change the store run one after the other. */
  #tasks: Promise<void> = Promise.resolve()
  readonly #closing = new AbortController()
  readonly #running: Promise<void>

  private constructor(folder: string, options: HistoryOptions, deps: HistoryDeps) {
    this.#folder = folder
    this.#options = options
    this.#deps = deps
    this.#running = this.#run()
  }

  /** Opens the history in a folder. Without days nothing is opened or counted. */
  static async open(folder: string, options: HistoryOptions, deps: HistoryDeps): Promise<History> {
    const history = new History(folder, { ...options, days: 0 }, deps)
    await history.configure(options)
    return history
  }

  get isEnabled(): boolean {
    return this.#store !== undefined
  }

  /** Applies other limits. */
  async configure(options: HistoryOptions): Promise<void> {
    await this.#task(async () => {
      try {
        if (options.days > 0) await this.#openStore()
        else await this.#closeStore()
      } catch (error) {
        // Sites are served without a history too.
        this.#report(error)
      }
      this.#options = options
      this.#sweptAt = -Infinity
    })
  }

  /** Adds counts of this machine. */
  async add(parts: readonly HistoryPart[]): Promise<void> {
    if (!this.#store) return
    this.#published?.(parts)
    for (const part of parts) await this.#add(part, part.time)
  }

  /** Adds counts of another machine. They arrive seconds later, and cells that are written are not changed for them. */
  async addForeign(parts: readonly HistoryPart[]): Promise<void> {
    for (const part of parts) await this.#add(part, Math.max(part.time, this.#writtenUntil))
  }

  /** Calls a listener with the counts of this machine. */
  publish(listener: (parts: readonly HistoryPart[]) => void): void {
    this.#published = listener
  }

  /** How far the counts of other machines were read, over restarts. */
  readonly foreignPlace = {
    read: async (): Promise<string | undefined> => await this.#store?.text('foreign'),
    write: async (id: string): Promise<void> => await this.#store?.putText('foreign', id),
  }

  async #add({ zone, account, cell }: HistoryPart, time: number): Promise<void> {
    if (!this.#store) return
    const scopes = this.#cellsOf(Math.max(time, 0))
    const ofZone = new Cell()
    for (const reader = new SectionReader(cell); !reader.isAtEnd;) {
      const { number, bytes } = reader.section()
      if (number > DIMENSIONS.length) continue
      if (number === TOTAL) ofZone.add(number, bytes)
      cellOf(scopes, zone === OTHER_ZONES ? undefined : zone)?.add(number, bytes)
      cellOf(scopes, accountScope(account))?.add(number, bytes)
    }
    ofZone.addTo(cellOf(scopes, accountScope(account)), BY_ZONE, zone)
    await this.#slices.yieldToEventLoop()
  }

  /** Returns the beginning of the oldest period of a resolution that is kept complete. */
  keptFrom(resolution: Resolution): number {
    const kept = this.#rollUps?.keptFrom(resolution) ?? 0
    return Math.max(kept, this.#deps.clock.now() - retentionMs(resolution, this.#options.days))
  }

  /** Yields the sections of a dimension of a scope with `from <= time < to`, in periods of at most `step` milliseconds. */
  async *read(scope: string, place: number, range: ReadRange): AsyncGenerator<FoundSection[]> {
    const store = this.#store
    const rollUps = this.#rollUps
    if (!store || !rollUps) return
    let { from } = range
    // Taken first: a cell that is written meanwhile is not read from the disk too.
    const written = this.#writtenUntil
    const open: FoundSection[] = []
    for (const [time, scopes] of this.#open) {
      const bytes = time >= range.from && time < range.to ? scopes.get(scope)?.section(place) : undefined
      if (bytes) open.push({ time, bytes })
    }
    for (const resolution of RESOLUTIONS.toReversed()) {
      if (range.step % resolution.ms !== 0) continue
      const until = Math.min(range.to, resolution === CELLS ? written : rollUps.until(resolution))
      if (until <= from) continue
      for await (const some of store.read({ resolution, scope, place }, from, until))
        yield some.map(([time, bytes]) => ({ time, bytes }))
      from = until
    }
    yield open
  }

  /** Returns the times in which requests were counted. */
  coverage(from: number, to: number): readonly Span[] {
    return this.#coverage?.between(from, to, this.#deps.clock.now()) ?? []
  }

  /** Writes the cells in memory. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#task(async () => await this.#closeStore())
  }

  /** Writes finished cells and due periods. Runs by itself every 10 s. */
  async tick(): Promise<void> {
    await this.#task(async () => {
      if (!this.#store) return
      const { clock } = this.#deps
      const now = clock.now()
      await this.#write(now - (now % CELL_MS))
      await this.#coverage!.reached(now)
      await this.#rollUps!.run(this.#writtenUntil)
      if (clock.monotonic() - this.#sweptAt < SWEEP_MS) return
      this.#sweptAt = clock.monotonic()
      await this.#rollUps!.sweep(this.#options.days, now)
      await makeSpace(this.#store, this.#rollUps!, this.#options.bytes)
    })
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      await clock.sleep(CELL_MS - (clock.now() % CELL_MS) + GRACE_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      await this.tick().catch((error: unknown) => this.#report(error))
    }
  }

  async #openStore(): Promise<void> {
    if (this.#store) return
    const { clock, log } = this.#deps
    const store = await CellStore.open(this.#folder, log)
    this.#writtenUntil = (await store.number('written')) ?? 0
    this.#rollUps = await RollUps.open(store, this.#writtenUntil, clock.now())
    this.#coverage = await Coverage.open(store, clock.now())
    this.#store = store
  }

  async #closeStore(): Promise<void> {
    if (!this.#store) return
    const now = this.#deps.clock.now()
    try {
      await this.#write(Infinity)
      await this.#coverage!.reached(now)
    } finally {
      const store = this.#store
      this.#store = undefined
      this.#rollUps = undefined
      this.#coverage = undefined
      this.#open.clear()
      await store.close()
    }
  }

  /** Writes the cells that end before a time. */
  async #write(before: number): Promise<void> {
    const store = this.#store!
    const due = [...this.#open].filter(([time]) => time + CELL_MS <= before)
    try {
      for (const [time, scopes] of due) {
        // Counts for this time can be there: of the process before a restart, or from before the clock was set back.
        const isAgain = time < this.#writtenUntil
        await store.put(sectionsOf(CELLS, time, isAgain ? await this.#joined(time, scopes) : scopes))
        this.#rollUps!.written(time, scopes.keys())
        if (isAgain) await this.#rollUps!.again(time)
        this.#open.delete(time)
        this.#writtenUntil = Math.max(this.#writtenUntil, time + CELL_MS)
      }
      // Queries read finished cells from the disk, also those without requests.
      if (Number.isFinite(before)) this.#writtenUntil = Math.max(this.#writtenUntil, before)
      await store.putNumber('written', this.#writtenUntil)
    } catch (error) {
      this.#dropOld()
      throw error
    }
  }

  /** Returns cells with the stored counts for the same time. */
  async #joined(time: number, scopes: ReadonlyMap<string, Cell>): Promise<Map<string, Cell>> {
    const joined = new Map<string, Cell>()
    for (const [scope, cell] of scopes) {
      const both = new Cell()
      for (const [place, bytes] of cell.sections()) both.add(place, bytes)
      const stored = await this.#store!.getMany(PLACES.map((place) => ({ resolution: CELLS, scope, place, time })))
      for (const [place, bytes] of stored.entries()) if (bytes) both.add(place, bytes)
      joined.set(scope, both)
    }
    return joined
  }

  /** A disk that fails must not fill the memory. */
  #dropOld(): void {
    const oldest = this.#deps.clock.now() - MAX_UNWRITTEN_MS
    for (const time of this.#open.keys()) if (time < oldest) this.#open.delete(time)
  }

  #cellsOf(time: number): Map<string, Cell> {
    const known = this.#open.get(time)
    if (known) return known
    const scopes = new Map<string, Cell>()
    this.#open.set(time, scopes)
    return scopes
  }

  async #task(run: () => Promise<void>): Promise<void> {
    const task = this.#tasks.then(run)
    this.#tasks = task.catch(() => undefined)
    await task
  }

  #report(error: unknown): void {
    const { clock, log } = this.#deps
    if (clock.monotonic() - this.#reportedAt < 60_000) return
    this.#reportedAt = clock.monotonic()
    log.error({ event: 'history_failed', error: messageOf(error) }, 'counts of requests cannot be stored')
  }
}

/** Times in milliseconds since 1970, multiples of `step`. */
export interface ReadRange {
  readonly from: number
  readonly to: number
  readonly step: number
}

function cellOf(scopes: Map<string, Cell>, scope: string): Cell
function cellOf(scopes: Map<string, Cell>, scope: string | undefined): Cell | undefined
function cellOf(scopes: Map<string, Cell>, scope: string | undefined): Cell | undefined {
  if (scope === undefined) return undefined
  const known = scopes.get(scope)
  if (known) return known
  const cell = new Cell()
  scopes.set(scope, cell)
  return cell
}

function* sectionsOf(
  resolution: Resolution,
  time: number,
  scopes: ReadonlyMap<string, Cell>,
): Generator<readonly [StoredSection, Buffer]> {
  for (const [scope, cell] of scopes)
    for (const [place, bytes] of cell.sections()) yield [{ resolution, scope, place, time }, bytes]
}
