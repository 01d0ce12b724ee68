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
  await eachSection(history, query.scopes, base.place, range, ({ time, bytes }) => {
    const row = points[Math.floor((time - from) / step)]?.row
    for (const reader = new SectionReader(bytes); !reader.isAtEnd;)
      reader.add(base.fits(reader.key()) ? row : undefined)
  })
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
  const { scopes, limit, filter, groupPoints = true } = query
  const { from, to, step } = range
  const { place, group, isDescribed } = sourceOf(query)
  const values = new Values()
  const other = newRow()
  // The sections, while there are not too many.
  let kept: Section[] | undefined = groupPoints ? [] : undefined
  let bytes = 0
  await eachSection(history, scopes, place, range, (section) => {
    bytes += section.bytes.length
    if (bytes > MAX_KEPT_BYTES) kept = undefined
    const index = kept ? kept.push(section) - 1 : 0
    for (const reader = new SectionReader(section.bytes); !reader.isAtEnd;) {
      const key = reader.key()
      const value = group(key, section.scope)
      if (value === undefined) reader.add(undefined)
      else if (value === OTHER) reader.add(filter ? undefined : other)
      else {
        const found = values.of(value, isDescribed ? key : value)
        if (kept) found.places.push(index, reader.at)
        reader.add(found.row)
      }
    }
  })
  const sorted = values.sorted()
  for (const { row } of sorted.slice(limit)) addRow(other, row)
  addRow(other, values.dropped)
  const shown = sorted.slice(0, limit).map((one) => ({ ...one, points: new Map<number, Row>() }))
  const most = groupPoints ? Math.max(1, Math.floor((MAX_GROUP_POINTS * step) / (to - from))) : 0
  const pointed = shown.slice(0, most)
  const timeOf = ({ time }: Section): number => time - ((time - from) % step)
  if (kept)
    for (const { points, places } of pointed)
      for (let i = 0; i < places.length; i += 2) {
        const section = kept[places[i]!]!
        new SectionReader(section.bytes, places[i + 1]).add(rowAt(points, timeOf(section)))
        if (slices.isOver) await slices.yieldToEventLoop()
      }
  else if (pointed.length > 0) {
    const byValue = new Map(pointed.map(({ value, points }) => [value, points]))
    await eachSection(history, scopes, place, range, (section) => {
      for (const reader = new SectionReader(section.bytes); !reader.isAtEnd;) {
        const points = byValue.get(group(reader.key(), section.scope) ?? OTHER)
        reader.add(points && rowAt(points, timeOf(section)))
      }
    })
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

/** A value with its requests. */
interface Value {
  /** The value and its description. */
  key: string
  readonly row: Row
  /** The index of a section and the place of its row, for each section that has one. */
  readonly places: number[]
}

/** The rows of values. Above {@link MAX_VALUES} the least frequent half is dropped. */
class Values {
  readonly #values = new Map<string, Value>()
  readonly dropped = newRow()

  /** Returns a value. `key` is the value with its description. */
  of(value: string, key: string): Value {
    const known = this.#values.get(value)
    if (known) {
      known.key = key
      return known
    }
    if (this.#values.size >= MAX_VALUES) this.#drop()
    const added = { key, row: newRow(), places: [] }
    this.#values.set(value, added)
    return added
  }

  /** Returns the values, those with the most requests first. */
  sorted(): (Value & { readonly value: string })[] {
    return [...this.#values].map(([value, one]) => ({ ...one, value })).sort(byRequests)
  }

  #drop(): void {
    for (const { value, row } of this.sorted().slice(MAX_VALUES / 2)) {
      addRow(this.dropped, row)
      this.#values.delete(value)
    }
  }
}

const byRequests = (a: Value, b: Value): number => b.row[REQUESTS]! - a.row[REQUESTS]!

interface Section {
  readonly scope: string
  readonly time: number
  readonly bytes: Uint8Array
}

const slices = new EventLoopYield()

/** Calls `use` with the sections of all scopes, with pauses for other work. */
async function eachSection(
  history: History,
  scopes: readonly string[],
  place: number,
  range: ReadRange,
  use: (section: Section) => void,
): Promise<void> {
  for (const scope of scopes)
    for await (const some of history.read(scope, place, range))
      for (const { time, bytes } of some) {
        use({ scope, time, bytes })
        if (slices.isOver) await slices.yieldToEventLoop()
      }
}
