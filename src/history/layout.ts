/**
 * The counts and their places in a row. A row is an array of numbers, the same for all requests of a zone
 * as for those with one status, path or agent.
 */

const STATUS_CLASSES = 5
const BUCKETS = 32

/** Outcomes of the cache as the history names them; `none` are responses of the proxy itself and zones without a cache. */
export const CACHE_STATES = [
  'hit',
  'miss',
  'expired',
  'stale',
  'updating',
  'revalidated',
  'bypass',
  'dynamic',
  'none',
] as const

/** How agents were verified. */
export const VERIFIED = ['none', 'address', 'signature'] as const

/** Actions of `access` on requests of agents. */
export const ACTIONS = ['none', 'allow', 'block', 'markdown', 'canonical', 'challenge', 'pay'] as const

let next = 0
const slots = (count = 1): number => {
  const first = next
  next += count
  return first
}

export const REQUESTS = slots()
/** Body bytes to clients, from origins, and from the cache. */
export const BYTES = slots()
export const ORIGIN_BYTES = slots()
export const CACHED_BYTES = slots()
/** By the first digit of the status, from 1xx. */
export const STATUSES = slots(STATUS_CLASSES)
/** In the order of {@link CACHE_STATES}. */
export const CACHE = slots(CACHE_STATES.length)
export const CONVERTED = slots()
export const REFUSED = slots()
export const FAILED = slots()
/** Of the Markdown of conversions. */
export const TOKENS = slots()
export const MARKDOWN_BYTES = slots()
/** Of the HTML of conversions whose length is known, and the tokens of their Markdown. */
export const HTML_BYTES = slots()
export const HTML_TOKENS = slots()
/** Slots up to here are in the first mask of an encoded row. */
export const COMMON_SLOTS = next
export const COMPARED_TOKENS = slots()
/** Of agents: responses in Markdown, with those that are the origin's own. */
export const MARKDOWN_RESPONSES = slots()
export const VERIFICATIONS = slots(VERIFIED.length)
export const ACCESS = slots(ACTIONS.length)
/** Millionths of a currency. */
export const CHARGED = slots()
/** Slots up to here are single numbers. The rest are times. */
export const SINGLE_SLOTS = next
/** Times in the buckets of {@link bucketOf}: from the head of the request to the end of its response, and of origins. */
export const DURATIONS = slots(BUCKETS)
export const ORIGIN_TIMES = slots(BUCKETS)
export const SLOTS = next

/** Counts of requests: one number for each slot. */
export type Row = Float64Array

export const newRow = (): Row => new Float64Array(SLOTS)

/** Adds the counts of one row to another. */
export function addRow(to: Row, from: Row): void {
  for (let slot = 0; slot < SLOTS; slot++) to[slot]! += from[slot]!
}

/** Returns the bucket of a time in milliseconds: below 1 ms, then half a power of two each, the last one from 33 s on. */
export const bucketOf = (ms: number): number => (ms < 1 ? 0 : Math.min(BUCKETS - 1, 1 + Math.floor(2 * Math.log2(ms))))

/** Factor from the beginning of a bucket to its middle. */
const MIDDLE = 2 ** 0.25

/**
 * Returns a quantile of the times in milliseconds, at most 19 % from the exact one between 1 ms and 46 s. Null without
 * times. `first` is {@link DURATIONS} or {@link ORIGIN_TIMES}.
 */
export function quantile(row: Row, first: number, share: number): number | null {
  let total = 0
  for (let i = 0; i < BUCKETS; i++) total += row[first + i]!
  if (total === 0) return null
  const rank = Math.max(1, Math.ceil(share * total))
  let seen = 0
  let bucket = 0
  for (; bucket < BUCKETS - 1; bucket++) {
    seen += row[first + bucket]!
    if (seen >= rank) break
  }
  const middle = bucket === 0 ? 0.5 : 2 ** ((bucket - 1) / 2) * MIDDLE
  return middle < 10 ? Math.round(middle * 10) / 10 : Math.round(middle)
}

/** A property of requests by which they are counted, besides their zone. `limit`: values of one period; the rest are counted together. */
export interface Dimension {
  readonly name: DimensionName
  readonly limit: number
}

export const DIMENSION_NAMES = [
  'status',
  'cache',
  'method',
  'origin',
  'host',
  'agent',
  'country',
  'path',
  'agent,path',
  'rule',
  'worker',
  'charge',
  'zone',
] as const
export type DimensionName = (typeof DIMENSION_NAMES)[number]

/** Agents whose paths are counted, and paths of each. */
export const AGENTS_WITH_PATHS = 8
export const PATHS_OF_AGENT = 10

const LIMITS: Readonly<Record<DimensionName, number>> = {
  status: 40,
  cache: CACHE_STATES.length,
  method: 10,
  origin: 16,
  host: 20,
  agent: 32,
  country: 30,
  path: 50,
  'agent,path': AGENTS_WITH_PATHS * PATHS_OF_AGENT,
  rule: 100,
  worker: 50,
  charge: 32,
  zone: 1000,
}

/** By place in encoded cells. New ones are added at the end. */
export const DIMENSIONS: readonly Dimension[] = DIMENSION_NAMES.map((name) => ({ name, limit: LIMITS[name] }))

/** The place of all requests in encoded cells, before the dimensions. */
export const TOTAL = 0

/** Returns the place of a dimension in encoded cells. */
export const placeOf = (name: DimensionName): number => DIMENSION_NAMES.indexOf(name) + 1

/** The places of a cell: all requests, then the dimensions. */
export const PLACES: readonly number[] = [TOTAL, ...DIMENSION_NAMES.map(placeOf)]

/** Key of the row for all values beyond the limit. */
export const OTHER = ''

/** Between the key of a value and its description, as in `ID\nDescription`, and between an agent and a path. */
export const SEPARATOR = '\n'

/** The name of zones after the first ones. */
export const OTHER_ZONES = 'other'

/** Zones with counts of their own in one period. */
export const MAX_ZONES = 1000

/** Length of a cell of counts. */
export const CELL_MS = 10_000
