import * as fs from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import { makeFolder, writeDurably } from '../../src/disk/durable-write.js'
import type { Watched } from './monitor.js'

/** Length of a point. It has the highest lag of its samples. */
const STEP_MS = 300_000
const SAMPLE_MS = 30_000
/** Points of a job that are kept: 24 hours. */
const MAX_POINTS = 288
/** Jobs and pipelines with points. Further ones have none. */
const MAX_SERIES = 1000
/** Lines of the file before it is written again without old ones. */
const MAX_LINES = 2 * MAX_POINTS

/** The highest lag in a step. */
export interface LagPoint {
  /** Beginning of the step, in milliseconds since 1970. */
  readonly at: number
  readonly records: number
  readonly seconds: number
}

/** A job, or an output of a pipeline. */
type Name = Pick<Watched, 'kind' | 'name' | 'route'>

/** A line of the file: the lags of all jobs in one step. */
interface Line {
  readonly at: number
  readonly lags: readonly (readonly [key: string, records: number, seconds: number])[]
}

export interface LagHistoryDeps {
  /** The file that keeps the points over a restart. */
  readonly path: string
  readonly watched: () => readonly Watched[]
  readonly clock: Clock
  readonly log: Log
}

const keyOf = ({ kind, name, route = '' }: Name): string => `${kind} ${name} ${route}`

/** The lag of jobs and pipelines in the last 24 hours. */
export class LagHistory {
  readonly stepMs = STEP_MS
  readonly #deps: LagHistoryDeps
  readonly #series = new Map<string, LagPoint[]>()
  readonly #closing = new AbortController()
  #lines = 0
  #running: Promise<void> = Promise.resolve()

  private constructor(deps: LagHistoryDeps) {
    this.#deps = deps
  }

  /** Reads the points of earlier runs and begins to sample. */
  static async open(deps: LagHistoryDeps): Promise<LagHistory> {
    const history = new LagHistory(deps)
    await history.#read()
    history.#running = history.#run()
    return history
  }

  /** Returns the points of a job or pipeline since a time, oldest first. The last one may not be over. */
  points(name: Name, since: number): readonly LagPoint[] {
    return (this.#series.get(keyOf(name)) ?? []).filter(({ at }) => at + STEP_MS > since)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closing
    let step = stepOf(clock.now())
    while (!signal.aborted) {
      this.#sample(stepOf(clock.now()))
      await clock.sleep(SAMPLE_MS, signal).catch(() => {})
      const now = stepOf(clock.now())
      if (now === step && !signal.aborted) continue
      await this.#write(step)
      step = now
    }
  }

  #sample(at: number): void {
    for (const watched of this.#deps.watched()) {
      const { lagRecords: records, lagSeconds: seconds } = watched.progress()
      this.#add(keyOf(watched), { at, records, seconds })
    }
    for (const [key, points] of this.#series) {
      while (points[0] && points[0].at <= at - MAX_POINTS * STEP_MS) points.shift()
      if (points.length === 0) this.#series.delete(key)
    }
  }

  #add(key: string, point: LagPoint): void {
    let points = this.#series.get(key)
    if (!points) {
      if (this.#series.size >= MAX_SERIES) return
      this.#series.set(key, (points = []))
    }
    const last = points.at(-1)
    // A clock that was set back goes on with the last point.
    if (!last || last.at < point.at) points.push(point)
    else points[points.length - 1] = highest(last, point)
  }

  async #write(at: number): Promise<void> {
    try {
      if (this.#lines >= MAX_LINES) return await this.#writeAll()
      const text = textOf(this.#lineAt(at))
      if (text === '') return
      this.#lines++
      await makeFolder(fs, dirname(this.#deps.path))
      await fs.appendFile(this.#deps.path, text, { mode: 0o600 })
    } catch (error) {
      this.#deps.log.warn({ event: 'lag_history_failed', error: messageOf(error) })
    }
  }

  #lineAt(at: number): Line {
    const lags = [...this.#series].flatMap(([key, points]) => {
      const point = points.findLast((one) => one.at <= at)
      return point?.at === at ? [[key, point.records, point.seconds] as const] : []
    })
    return { at, lags }
  }

  async #writeAll(): Promise<void> {
    const times = [...new Set([...this.#series.values()].flatMap((points) => points.map(({ at }) => at)))]
    const lines = times.toSorted((one, other) => one - other).map((at) => textOf(this.#lineAt(at)))
    this.#lines = lines.length
    await writeDurably(fs, this.#deps.path, lines.join(''))
  }

  async #read(): Promise<void> {
    const { path, clock } = this.#deps
    const text = await fs.readFile(path, 'utf8').catch(() => '')
    const slices = new EventLoopYield()
    const oldest = clock.now() - MAX_POINTS * STEP_MS
    for (const line of text.split('\n')) {
      this.#lines++
      await slices.yieldToEventLoop()
      const read = lineOf(line)
      if (!read || read.at <= oldest || read.at > clock.now()) continue
      for (const [key, records, seconds] of read.lags) this.#add(key, { at: read.at, records, seconds })
    }
    // A crash may have left a part of a line at the end.
    if (text !== '' && !text.endsWith('\n')) await this.#writeAll()
  }
}

const stepOf = (now: number): number => now - (now % STEP_MS)

const highest = (one: LagPoint, other: LagPoint): LagPoint => ({
  at: one.at,
  records: Math.max(one.records, other.records),
  seconds: Math.max(one.seconds, other.seconds),
})

const textOf = (line: Line): string => (line.lags.length === 0 ? '' : `${JSON.stringify(line)}\n`)

/** Returns the content of a line. Undefined for a damaged line. */
function lineOf(text: string): Line | undefined {
  try {
    const line = JSON.parse(text) as Line
    return typeof line.at === 'number' && Array.isArray(line.lags) ? line : undefined
  } catch {
    return undefined
  }
}
