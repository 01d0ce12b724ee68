import { Type } from 'typebox'
import { ApiErrors, ApiError } from '../http/errors.js'

const HOUR_MS = 3_600_000
/** Longer than counts are kept. */
const MAX_RANGE_MS = 400 * 24 * HOUR_MS

const Time = (description: string) =>
  Type.Optional(
    Type.String({ maxLength: 40, description: `${description} A date or a time by RFC 3339, or seconds since 1970.` }),
  )

/** The query parameters of a range of time. */
export const HistoryRange = {
  since: Time('Beginning. Default: one hour before the end.'),
  until: Time('End. Default: now.'),
}

interface RangeQuery {
  readonly since?: string
  readonly until?: string
}

/** Returns the range that a query asks for, in milliseconds since 1970. Throws an error for a parameter that is none. */
export function rangeOf(query: RangeQuery, now: number): { readonly since: number; readonly until: number } {
  const until = query.until === undefined ? now : timeOf(query.until)
  const since = query.since === undefined ? (until ?? now) - HOUR_MS : timeOf(query.since)
  const wrong: ApiError[] = []
  if (since === undefined) wrong.push(badQuery('since', TIME_MESSAGE))
  if (until === undefined) wrong.push(badQuery('until', TIME_MESSAGE))
  if (since !== undefined && until !== undefined) {
    if (since >= until) wrong.push(badQuery('since', 'must be before until'))
    else if (until - since > MAX_RANGE_MS) wrong.push(badQuery('since', 'must be at most 400 days before until'))
  }
  const [first, ...others] = wrong
  if (first) throw new ApiErrors([first, ...others])
  return { since: since!, until: until! }
}

/** Returns the error for a query parameter. */
export const badQuery = (name: string, message: string): ApiError => new ApiError('badQuery', `/${name}`, message)

const TIME_MESSAGE = 'must be a date or a time by RFC 3339, or seconds since 1970'
const DATE_TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i

function timeOf(text: string): number | undefined {
  const time = /^\d{9,11}$/.test(text) ? Number(text) * 1000 : DATE_TIME.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(time) || time < 0 ? undefined : time
}
