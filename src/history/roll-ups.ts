import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import { Cell } from './cell.js'
import { RESOLUTIONS, type CellStore, type Resolution, type StoredSection } from './cell-store.js'
import { PLACES } from './layout.js'
import { retentionMs } from './retention.js'

/** Sweeps of minutes for one sweep of hours and days. */
const LONG_SWEEPS = 36

/** Adds finished periods to the next longer ones, and deletes old periods. */
export class RollUps {
  readonly #store: CellStore
  readonly #slices = new EventLoopYield()
  /** By resolution: periods before are complete. */
  readonly #until = new Map<Resolution, number>()
  /** By resolution: periods before were deleted to make space. */
  readonly #from = new Map<Resolution, number>()
  /** The end of the last cell of each scope. */
  readonly #scopes = new Map<string, number>()
  #sweeps = 0

  private constructor(store: CellStore) {
    this.#store = store
  }

  static async open(store: CellStore, writtenUntil: number, now: number): Promise<RollUps> {
    const rollUps = new RollUps(store)
    for (const resolution of RESOLUTIONS) {
      const { name, ms } = resolution
      const until = await store.number(`until/${name}`)
      // Stored now: the next start can be long after the end of the first period.
      if (until === undefined) await store.putNumber(`until/${name}`, floor(now, ms))
      rollUps.#until.set(resolution, until ?? floor(now, ms))
      rollUps.#from.set(resolution, (await store.number(`from/${name}`)) ?? 0)
      for (const scope of await store.scopes(resolution)) rollUps.#scopes.set(scope, writtenUntil)
    }
    return rollUps
  }

  get scopes(): Iterable<string> {
    return this.#scopes.keys()
  }

  /** Returns the end of the periods that are complete. */
  until(resolution: Resolution): number {
    return this.#until.get(resolution)!
  }

  /** Returns the beginning of the periods that were not deleted to make space. */
  keptFrom(resolution: Resolution): number {
    return this.#from.get(resolution)!
  }

  /** Remembers the scopes with requests in a cell. */
  written(time: number, scopes: Iterable<string>): void {
    const end = time + RESOLUTIONS[0].ms
    for (const scope of scopes) this.#scopes.set(scope, Math.max(end, this.#scopes.get(scope) ?? 0))
  }

  /** Adds up the periods that end before the cells that are written. */
  async run(writtenUntil: number): Promise<void> {
    let complete = writtenUntil
    for (const [index, resolution] of RESOLUTIONS.entries()) {
      if (index === 0) continue
      complete = await this.#advance(resolution, RESOLUTIONS[index - 1]!, complete)
    }
  }

  /** Adds up the periods again that had this cell, as far as their parts are kept. */
  async again(time: number): Promise<void> {
    for (const [index, resolution] of RESOLUTIONS.entries()) {
      const begin = floor(time, resolution.ms)
      if (index === 0 || begin + resolution.ms > this.until(resolution)) continue
      const parts = RESOLUTIONS[index - 1]!
      if (begin < ((await this.#store.oldest(parts, this.scopes)) ?? Infinity)) return
      await this.#add(resolution, parts, begin)
    }
  }

  /** Deletes periods that are older than they are kept. */
  async sweep(days: number, now: number): Promise<void> {
    const isLong = this.#sweeps++ % LONG_SWEEPS === 0
    for (const [index, resolution] of RESOLUTIONS.entries()) {
      if (index > 1 && !isLong) continue
      // Periods that are not yet part of a longer one are kept.
      const next = RESOLUTIONS[index + 1]
      const before = Math.min(now - retentionMs(resolution, days), next ? this.until(next) : Infinity)
      await this.#store.deleteBefore(resolution, floor(before, resolution.ms), this.scopes)
    }
  }

  /** Deletes the oldest quarter of a resolution. Returns false if there is nothing that may be deleted. */
  async shorten(resolution: Resolution): Promise<boolean> {
    const next = RESOLUTIONS[RESOLUTIONS.indexOf(resolution) + 1] ?? resolution
    const oldest = await this.#store.oldest(resolution, this.scopes)
    const last = floor(this.until(next), resolution.ms)
    if (oldest === undefined || oldest >= last) return false
    const before = Math.min(last, oldest + Math.max(resolution.ms, floor((last - oldest) / 4, resolution.ms)))
    await this.#store.deleteBefore(resolution, before, this.scopes)
    await this.#store.putNumber(`from/${resolution.name}`, before)
    this.#from.set(resolution, before)
    return true
  }

  async #advance(resolution: Resolution, parts: Resolution, complete: number): Promise<number> {
    const { name, ms } = resolution
    let until = this.until(resolution)
    while (until + ms <= complete) {
      // Without requests since then, as after a pause of the daemon.
      const isEmpty = ![...this.#scopes.values()].some((end) => end > until)
      if (!isEmpty) await this.#add(resolution, parts, until)
      until = isEmpty ? floor(complete, ms) : until + ms
      await this.#store.putNumber(`until/${name}`, until)
      this.#until.set(resolution, until)
    }
    return until
  }

  async #add(resolution: Resolution, parts: Resolution, begin: number): Promise<void> {
    for (const [scope, end] of this.#scopes) {
      if (end <= begin) continue
      const cell = new Cell()
      for (const place of PLACES) {
        const wanted: StoredSection[] = []
        for (let time = begin; time < begin + resolution.ms; time += parts.ms)
          wanted.push({ resolution: parts, scope, place, time })
        for (const bytes of await this.#store.getMany(wanted)) {
          if (bytes) cell.add(place, bytes)
          await this.#slices.yieldToEventLoop()
        }
      }
      if (cell.isEmpty) continue
      const sections = [...cell.sections()]
      await this.#store.put(
        sections.map(([place, bytes]) => [{ resolution, scope, place, time: begin }, bytes] as const),
      )
    }
  }
}

const floor = (time: number, ms: number): number => time - (time % ms)
