import type { SinkError } from '../../src/core/sink.js'

const SECOND = 1000
const MINUTE = 60 * SECOND

/** A destination that asks for more is not waited for longer. */
const MAX_ASKED_MS = 60 * MINUTE

/**
 * How long to wait, in ms, after a failure that is the `tries`th in a row, from 1. Full jitter: many jobs that failed
 * together do not come back together. `random` gives numbers from 0 to 1.
 */
export function pauseMs({ failure, retryAfterMs = 0 }: SinkError, tries: number, random: () => number): number {
  const [least, first, most] = failure === 'transient' ? [0, SECOND, MINUTE] : [MINUTE, MINUTE, 5 * MINUTE]
  const cap = Math.min(most, first * 2 ** Math.min(tries - 1, 30))
  return Math.max(least + random() * (cap - least), Math.min(retryAfterMs, MAX_ASKED_MS))
}
