import type { Clock } from '../../src/core/clock.js'

/**
 * Returns the wait that `Retry-After` asks for, in milliseconds. The header has seconds or a date (RFC 9110, 10.2.3).
 * Undefined if it cannot be parsed.
 */
export function retryAfterMs(value: string | undefined, clock: Pick<Clock, 'now'>): number | undefined {
  const text = value?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  if (!/^[A-Za-z]{3,9}, /.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now())
}
