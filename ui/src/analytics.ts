import { useMemo } from 'react'
import { useRead, type Read } from './api/queries.ts'
import type { Series, Span } from './parts/chart-data.ts'
import { usePlace } from './place.tsx'
import { useRange, type Range } from './range.ts'

interface Times {
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

/** The counts of some requests. */
export interface Totals {
  readonly requests: number
  readonly bytes: number
  readonly origin_bytes: number
  readonly cached_bytes: number
  readonly errors: number
  readonly statuses: Readonly<Record<'1xx' | '2xx' | '3xx' | '4xx' | '5xx', number>>
  readonly cache: Readonly<Record<string, number>>
  readonly markdown: {
    readonly converted: number
    readonly refused: number
    readonly failed: number
    readonly tokens: number
    readonly html_tokens: number
    readonly bytes: number
    readonly html_bytes: number
  }
  readonly duration_ms: Times
  readonly origin_ms: Times
}

export type Point = Totals & { readonly at: string }

export interface Group extends Totals {
  readonly key: string
  readonly name: string
  readonly points: readonly Point[]
}

/** What `edged/analytics` returns. */
export interface Analytics {
  readonly since: string
  readonly until: string
  readonly step_seconds: number
  readonly partial_from: string | null
  readonly machines: 'this' | 'all'
  readonly totals: Totals
  readonly points: readonly Point[]
  readonly groups: readonly Group[]
  readonly other: Totals
  readonly coverage: readonly { readonly from: string; readonly to: string }[]
}

interface Question {
  readonly by?: string
  readonly limit?: number
  readonly filter?: string | undefined
  /** Seconds of a point. */
  readonly step?: number
  /** Query of a range that differs from the range in the address. Nothing is read without a query. */
  readonly query?: string | undefined
  readonly isOff?: boolean
}

/** Reads the counts of the range in the address, of the zone or of all zones of the account. */
export function useAnalytics({ by, limit, filter, step, query, isOff = false }: Question = {}): Read<Analytics> {
  const { zone, ofZone, ofAccount } = usePlace()
  const range = useRange()
  const rest = Object.entries({ by, limit, filter, step }).flatMap(([name, value]) =>
    value === undefined ? [] : [`&${name}=${encodeURIComponent(value)}`],
  )
  const path = `${zone ? ofZone : ofAccount}/edged/analytics?${query ?? range.query}${rest.join('')}`
  return useRead<Analytics>(isOff ? undefined : path, { keep: true })
}

/** Classes of status with their colours in charts. */
export const STATUSES = [
  ['2xx', '--ok'],
  ['3xx', '--info'],
  ['4xx', '--warn'],
  ['5xx', '--bad'],
] as const

/** Quantiles with their colours in charts. */
export const QUANTILES = [
  ['p50', '--ok'],
  ['p95', '--warn'],
  ['p99', '--bad'],
] as const

const DAY_SECONDS = 86_400
const MIN_STEP = 10

/** Returns the question for the range of the same length before. */
export function beforeOf({ since, until }: Range): Question {
  const length = until.getTime() - since.getTime()
  const start = new Date(since.getTime() - length)
  const step = Math.min(Math.max(Math.ceil(length / 1000), MIN_STEP), DAY_SECONDS)
  return { query: `since=${start.toISOString()}&until=${since.toISOString()}`, step }
}

const seconds = (text: string): number => Date.parse(text) / 1000

/** A point that has only begun says nothing yet. */
const MIN_PARTIAL_SECONDS = 3

/** The time axis of an answer, and functions that make lines from its points. */
export interface Timeline {
  readonly times: readonly number[]
  readonly step: number
  readonly range: Span
  readonly isPartial: boolean
  readonly coverage: readonly Span[]
  /** Returns a number of each point. Null where the daemon did not run. */
  readonly valuesOf: (points: readonly Point[], value: (point: Totals) => number | null) => (number | null)[]
  /** The same per second. */
  readonly ratesOf: (points: readonly Point[], count: (point: Totals) => number) => (number | null)[]
}

function timelineOf(found: Analytics): Timeline {
  const { points, step_seconds: step } = found
  const range = { from: seconds(found.since), to: seconds(found.until) }
  const coverage = found.coverage.map(({ from, to }) => ({ from: seconds(from), to: seconds(to) }))
  const partial = found.partial_from === null ? undefined : seconds(found.partial_from)
  const isTooShort = partial !== undefined && range.to - partial < MIN_PARTIAL_SECONDS
  const shown = isTooShort ? points.length - 1 : points.length
  const times = points.slice(0, shown).map(({ at }) => seconds(at))
  const isCounted = times.map((time) => coverage.some(({ from, to }) => from < time + step && to > time))
  // The first and the last point cover a part of a cell if the daemon started, or the range begins or ends, inside the cell.
  const lengths = times.map((time) =>
    Math.max(
      coverage.reduce((sum, { from, to }) => sum + overlap(from, to, time, Math.min(time + step, range.to)), 0),
      1,
    ),
  )
  const valuesOf: Timeline['valuesOf'] = (of, value) =>
    times.map((_, at) => (isCounted[at] && of[at] ? value(of[at]) : null))
  return {
    times,
    step,
    range,
    isPartial: partial !== undefined && !isTooShort,
    coverage,
    valuesOf,
    ratesOf: (of, count) => times.map((_, at) => (isCounted[at] && of[at] ? count(of[at]) / lengths[at]! : null)),
  }
}

const overlap = (from: number, to: number, start: number, end: number): number =>
  Math.max(0, Math.min(to, end) - Math.max(from, start))

/** Returns the timeline of an answer, the same one until another answer comes. */
export const useTimeline = (found: Analytics): Timeline => useMemo(() => timelineOf(found), [found])

const HITS = ['hit', 'stale', 'updating', 'revalidated']

/** Requests that the cache answered. */
export const hitsOf = ({ cache }: Totals): number => HITS.reduce((sum, state) => sum + (cache[state] ?? 0), 0)

/** Bytes that origins did not have to send, and bytes of HTML that became shorter Markdown. */
export const savedOf = ({ cached_bytes: cached, markdown }: Totals): number =>
  cached + Math.max(0, markdown.html_bytes - markdown.bytes)

/** Colours of values without a meaning of their own. */
const COLORS = ['--c1', '--c2', '--c3', '--c4', '--c5', '--c6']

/** Returns a colour for each of at most six names, the same one whatever their order is. */
function colorsOf(names: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const free = new Set(COLORS)
  for (const name of names.toSorted()) {
    let sum = 7
    for (let at = 0; at < name.length; at += 1) sum = (sum * 31 + name.charCodeAt(at)) >>> 0
    const [color] = [...COLORS.slice(sum % COLORS.length), ...COLORS].filter((one) => free.has(one))
    free.delete(color!)
    found.set(name, color!)
  }
  return found
}

/** Returns one line for each group, and one for all others together. */
export function groupSeries(
  found: Analytics,
  timeline: Timeline,
  count: (point: Totals) => number,
  totalOf: (value: number) => string,
): readonly Series[] {
  const shown = found.groups.slice(0, COLORS.length)
  const colors = colorsOf(shown.map(({ key }) => key))
  const series = shown.map((group): Series => ({
    key: group.key,
    label: group.name,
    color: colors.get(group.key)!,
    values: timeline.ratesOf(group.points, count),
    total: totalOf(count(group)),
  }))
  const rest = found.groups.slice(COLORS.length)
  const others = rest.reduce((sum, group) => sum + count(group), count(found.other))
  if (others === 0) return series
  const lines = rest.map(({ points }) => timeline.ratesOf(points, count))
  const values = timeline.times.map((_, at) => {
    const own = lines.map((line) => line[at] ?? null).filter((value) => value !== null)
    return own.length === 0 ? null : own.reduce((sum, value) => sum + value, 0)
  })
  return [...series, { key: 'other', label: 'Others', color: '--rest', values, total: totalOf(others) }]
}
