/** Maximum delay that `Retry-After` can request. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000
/** Share by which delays vary in both directions, so that simultaneous failures are not retried simultaneously. */
const JITTER = 0.2

/** Consequence of a response for a delivery. */
export type RetryDecision = 'delivered' | 'again' | 'gone'

/** 2xx is a success, 410 disables the webhook, all others (redirects included) are retried. */
export function retryDecision(status: number): RetryDecision {
  if (status >= 200 && status <= 299) return 'delivered'
  return status === 410 ? 'gone' : 'again'
}

/**
 * Returns the milliseconds until the next attempt after `failed` attempts, or undefined after the last one. There is
 * one attempt more than the schedule has delays. `retryAfterMs` is the delay that the response requested, of which at
 * most 24 h count.
 */
export function delayAfter(
  schedule: readonly number[],
  failed: number,
  retryAfterMs: number | undefined,
  random: () => number,
): number | undefined {
  const delay = schedule[failed - 1]
  if (delay === undefined) return undefined
  const spread = delay * (1 - JITTER + 2 * JITTER * random())
  return Math.max(spread, Math.min(retryAfterMs ?? 0, MAX_WAIT_MS))
}

/** Returns the maximum delay under a schedule. A due time beyond it comes from a wrong clock. */
export const longestDelay = (schedule: readonly number[]): number =>
  Math.max(MAX_WAIT_MS, ...schedule.map((delay) => delay * (1 + JITTER)))

const HAS_ZONE = /(?:GMT|UTC|Z|[+-]\d\d:?\d\d)$/i

/** Parses `Retry-After`, seconds or a date (RFC 9110, 10.2.3), into milliseconds from `now`. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  // The oldest form of a date has no zone, and is GMT too (RFC 9110, 5.6.7).
  const date = Date.parse(HAS_ZONE.test(value) ? value : `${value} GMT`)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
