/** The longest that an answer can make a delivery wait. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000
/** Delays are spread by this share in both directions, so that what failed together does not come back together. */
const JITTER = 0.2

/** What an answer means for a delivery. */
export type RetryDecision = 'delivered' | 'again' | 'gone'

/** 2xx is a success and 410 the end of the webhook; all else, redirects included, may be mended before the next try. */
export function retryDecision(status: number): RetryDecision {
  if (status >= 200 && status <= 299) return 'delivered'
  return status === 410 ? 'gone' : 'again'
}

/**
 * How long to wait in front of the next try, in milliseconds, when `failed` tries have been made; undefined when all of
 * them are used up: one more than the schedule has delays. `retryAfterMs`: what the answer asked for, 24 h at most.
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

/** The longest that any try waits under a schedule. A due time farther away comes from a clock that was wrong. */
export const longestDelay = (schedule: readonly number[]): number =>
  Math.max(MAX_WAIT_MS, ...schedule.map((delay) => delay * (1 + JITTER)))

/** What `Retry-After` asks for, seconds or a date (RFC 9110, 10.2.3), in milliseconds from `now`. */
export function retryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
