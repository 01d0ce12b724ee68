import type { Clock } from '../../src/core/clock.js'
import type { SinkError } from '../../src/core/sink.js'
import type { Position, ReadableSpool } from './spool/types.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
/** Reason that ends a wait that is not needed any more. A reason of its own for each wait would cost its stack. */
const OVER = new Error('over')

/** Maximum wait that a destination can ask for. */
const MAX_REQUESTED_MS = 60 * MINUTE

/**
 * Returns the wait in ms after the `attempts`th consecutive failure, from 1. Full jitter keeps jobs that failed
 * together from retrying together. `random` returns numbers from 0 to 1.
 */
export function pauseMs({ failure, retryAfterMs = 0 }: SinkError, attempts: number, random: () => number): number {
  const [min, first, max] = failure === 'transient' ? [0, SECOND, MINUTE] : [MINUTE, MINUTE, 5 * MINUTE]
  const cap = Math.min(max, first * 2 ** Math.min(attempts - 1, 30))
  return Math.max(min + random() * (cap - min), Math.min(retryAfterMs, MAX_REQUESTED_MS))
}

/** Waits `ms`, or until the signal aborts. Resolves in either case. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await clock.sleep(ms, signal).catch(() => {})
}

/** Waits until the spool has a record at `position`, `ms` have passed or the signal aborts. Resolves in each case. */
export async function more(
  spool: ReadableSpool,
  position: Position,
  { clock, ms, signal }: { clock: Clock; ms: number; signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return
  const over = new AbortController()
  const end = () => over.abort(OVER)
  signal.addEventListener('abort', end, { once: true })
  try {
    const waits = [spool.waitFor(position, over.signal)]
    if (ms < Infinity) waits.push(clock.sleep(ms, over.signal))
    await Promise.race(waits)
  } catch (error) {
    if (!over.signal.aborted) throw error
  } finally {
    over.abort(OVER)
    signal.removeEventListener('abort', end)
  }
}
