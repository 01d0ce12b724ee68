import { EventLoopYield } from '../core/schedule/event-loop-yield.js'
import { SectionReader } from './codec.js'
import { RESOLUTIONS } from './cell-store.js'
import { isAccount, type History, type ReadRange } from './history.js'
import {
  addRow,
  CELL_MS,
  newRow,
  OTHER,
  placeOf,
  REQUESTS,
  SEPARATOR,
  TOTAL,
  type DimensionName,
  type Row,
} from './layout.js'
import { valueOf } from './rows.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Steps by the length of a query: few enough points to draw. */
const STEPS: readonly (readonly [upTo: number, step: number])[] = [
  [HOUR, CELL_MS],
  [DAY, 5 * MINUTE],
  [7 * DAY, HOUR],
  [75 * DAY, 6 * HOUR],
  [300 * DAY, DAY],
  [Infinity, 2 * DAY],
]

/** Points of one query. */
export const MAX_POINTS = 1500
/** Points of all groups together. Further groups have none. */
const MAX_GROUP_POINTS = 4000
/** Different values that are compared. The least frequent ones beyond are counted with the others. */
const MAX_VALUES = 10_000
/** Sections that are kept from the first reading to the second one. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

/** Only the requests with one value of a dimension. */
export interface Filter {
  readonly dimension: DimensionName
  readonly value: string
}

/** A question to the history. Times are in milliseconds. */
export interface HistoryQuery {
  /** Ids of zones, or the scope of an account. Their counts are added. */
  readonly scopes: readonly string[]
  readonly since: number
  readonly until: number
  /** By default chosen by the length. */
  readonly step?: number | undefined
  readonly by?: DimensionName | undefined
  readonly filter?: Filter | undefined
  /** Groups; the rest are counted together. */
  readonly limit?: number
  /** Whether groups have points. */
  readonly groupPoints?: boolean
}

export interface Point {
  readonly at: number
  readonly row: Row
}

export interface Group {
  /** The value and its description. */
  readonly key: string
  readonly row: Row
  readonly points: readonly Point[]
}

export interface HistoryAnswer {
  readonly since: number
  readonly until: number
  readonly step: number
  readonly totals: Row
  /** One for each step, also without requests. */
  readonly points: readonly Point[]
  /** The most frequent values first. */
  readonly groups: readonly Group[]
  /** All other values. */
  readonly other: Row
}

/** Returns the times and the step of a query as they can be answered: all periods of this length are kept. */
export function planOf(history: History, { since, until, step: wanted }: HistoryQuery): ReadRange & { until: number } {
  const usual = STEPS.find(([upTo]) => until - since <= upTo)![1]
  const fitting = RESOLUTIONS.find((one) => history.keptFrom(one) <= since + one.ms) ?? RESOLUTIONS[3]
  const least = Math.max(fitting.ms, Math.ceil((until - since) / MAX_POINTS / CELL_MS) * CELL_MS)
  let step = Math.max(wanted ?? usual, CELL_MS)
  if (step < least || (wanted !== undefined && !isDivisible(step))) step = roundUp(Math.max(step, least))
  const from = since - (since % step)
  return { from, to: Math.ceil(until / step) * step, step, until }
}

/** Steps in which days can be divided, or that are days. */
const ROUND_STEPS = [10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400].map(
  (seconds) => seconds * 1000,
)
const isDivisible = (step: number): boolean => step % DAY === 0 || (DAY % step === 0 && step % CELL_MS === 0)
const roundUp = (step: number): number => ROUND_STEPS.find((one) => one >= step) ?? Math.ceil(step / DAY) * DAY

/** Reads the history in slices, so that requests go on meanwhile. */
export async function readHistory(history: History, query: HistoryQuery): Promise<HistoryAnswer> {
  const { from, to, step, until } = planOf(history, query)
  const { by, filter, limit = 10 } = query
  const range = { from, to, step }
  const points = Array.from({ length: Math.max(0, (to - from) / step) }, (_, i) => ({
    at: from + i * step,
    row: newRow(),
  }))
  const totals = newRow()
  const base = filter ? keyed(filter.dimension, filter.value) : { place: TOTAL, fits: () => true }
  for await (const { time, bytes } of sectionsOf(history, query.scopes, base.place, range)) {
    const row = points[Math.floor((time - from) / step)]?.row
    for (const reader = new SectionReader(bytes); !reader.isAtEnd;)
      reader.add(base.fits(reader.key()) ? row : undefined)
  }
  for (const { row } of points) addRow(totals, row)
  const grouped = by === undefined ? NO_GROUPS : await groupsOf(history, { ...query, by, limit }, range)
  return { since: from, until, step, totals, points, ...grouped }
}

const NO_GROUPS: Pick<HistoryAnswer, 'groups' | 'other'> = { groups: [], other: newRow() }

/** Returns the place of a dimension, and whether a key has the value. */
function keyed(dimension: DimensionName, value: string): { place: number; fits: (key: string) => boolean } {
  return { place: placeOf(dimension), fits: (key) => valueOf(key) === value }
}

/** Whether requests are counted by both dimensions together. */
export const areCountedTogether = (by: DimensionName, { dimension }: Filter): boolean =>
  by === dimension || (by === 'path' && dimension === 'agent')

interface GroupQuery extends HistoryQuery {
  readonly by: DimensionName
  readonly limit: number
}

/** The rows of one dimension, with the groups that a query asks for. */
interface GroupSource {
  readonly place: number
  /** Keys contain more about their groups. */
  readonly isDescribed: boolean
  /** Returns the group of a key, or undefined if it is not asked for. */
  readonly group: (key: string, scope: string) => string | undefined
}

function sourceOf({ by, filter, scopes }: GroupQuery): GroupSource {
  if (by === 'agent,path' || by === 'charge') return { place: placeOf(by), isDescribed: false, group: (key) => key }
  if (by === 'zone' && !scopes.every(isAccount)) return { place: TOTAL, isDescribed: false, group: (_, scope) => scope }
  if (filter?.dimension === 'agent' && by === 'path') {
    const prefix = filter.value + SEPARATOR
    return {
      place: placeOf('agent,path'),
      isDescribed: false,
      group: (key) => (key.startsWith(prefix) ? key.slice(prefix.length) : undefined),
    }
  }
  const isAsked = (value: string): boolean => filter === undefined || value === filter.value
  return {
    place: placeOf(by),
    isDescribed: true,
    group(key) {
      const value = valueOf(key)
      return key === OTHER || isAsked(value) ? value : undefined
    },
  }
}

async function groupsOf(
  history: History,
  query: GroupQuery,
  range: ReadRange,
): Promise<Pick<HistoryAnswer, 'groups' | 'other'>> {
  const { scopes, limit, filter } = query
  const { place, group, isDescribed } = sourceOf(query)
  const values = new Values()
  const other = newRow()
  let kept: Section[] | undefined = []
  let bytes = 0
  for await (const section of sectionsOf(history, scopes, place, range)) {
    bytes += section.bytes.length
    if (bytes > MAX_KEPT_BYTES) kept = undefined
    else kept?.push(section)
    for (const reader = new SectionReader(section.bytes); !reader.isAtEnd;) {
      const key = reader.key()
      const value = group(key, section.scope)
      if (value === undefined) reader.add(undefined)
      else if (value === OTHER) reader.add(filter ? undefined : other)
      else reader.add(values.of(value, isDescribed ? key : value))
    }
  }
  const sorted = values.sorted()
  const shown = sorted.slice(0, limit).map((one) => ({ ...one, points: new Map<number, Row>() }))
  for (const { row } of sorted.slice(limit)) addRow(other, row)
  addRow(other, values.dropped)
  const { from, to, step } = range
  const most = query.groupPoints === false ? 0 : Math.max(1, Math.floor((MAX_GROUP_POINTS * step) / (to - from)))
  const pointed = new Map(shown.slice(0, most).map(({ value, points }) => [value, points]))
  if (pointed.size > 0)
    for await (const section of kept ?? sectionsOf(history, scopes, place, range)) {
      const at = section.time - ((section.time - from) % step)
      for (const reader = new SectionReader(section.bytes); !reader.isAtEnd;) {
        const points = pointed.get(group(reader.key(), section.scope) ?? OTHER)
        reader.add(points && rowAt(points, at))
      }
      await slices.yieldToEventLoop()
    }
  const groups = shown.map(({ key, row, points }) => {
    const all: Point[] = []
    if (points.size > 0) for (let at = from; at < to; at += step) all.push({ at, row: points.get(at) ?? NO_REQUESTS })
    return { key, row, points: all }
  })
  return { groups, other }
}

const NO_REQUESTS = newRow()

function rowAt(points: Map<number, Row>, at: number): Row {
  const known = points.get(at)
  if (known) return known
  const row = newRow()
  points.set(at, row)
  return row
}

/** The rows of values. Above {@link MAX_VALUES} the least frequent half is dropped. */
class Values {
  readonly #rows = new Map<string, { key: string; readonly row: Row }>()
  readonly dropped = newRow()

  /** Returns the row of a value. `key` is the value with its description. */
  of(value: string, key: string): Row {
    const known = this.#rows.get(value)
    if (known) {
      known.key = key
      return known.row
    }
    if (this.#rows.size >= MAX_VALUES) this.#drop()
    const row = newRow()
    this.#rows.set(value, { key, row })
    return row
  }

  /** Returns the rows, those with the most requests first. */
  sorted(): { readonly value: string; readonly key: string; readonly row: Row }[] {
    return [...this.#rows]
      .map(([value, { key, row }]) => ({ value, key, row }))
      .sort((a, b) => b.row[REQUESTS]! - a.row[REQUESTS]!)
  }

  #drop(): void {
    const entries = [...this.#rows].sort(([, a], [, b]) => b.row[REQUESTS]! - a.row[REQUESTS]!)
    for (const [value, { row }] of entries.slice(MAX_VALUES / 2)) {
      addRow(this.dropped, row)
      this.#rows.delete(value)
    }
  }
}

interface Section {
  readonly scope: string
  readonly time: number
  readonly bytes: Uint8Array
}

const slices = new EventLoopYield()

/** Yields the sections of all scopes, with pauses for other work. */
async function* sectionsOf(
  history: History,
  scopes: readonly string[],
  place: number,
  range: ReadRange,
): AsyncGenerator<Section> {
  for (const scope of scopes)
    for await (const some of history.read(scope, place, range))
      for (const { time, bytes } of some) {
        yield { scope, time, bytes }
        await slices.yieldToEventLoop()
      }
}
