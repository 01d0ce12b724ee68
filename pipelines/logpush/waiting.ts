import type { Clock } from '../../src/core/clock.js'
import type { Position, ReadableSpool } from './spool/types.js'

/** Waits `ms`, or until the signal aborts; resolves in either case. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await clock.sleep(ms, signal).catch(() => {})
}

/** Waits until there is more than `position`, `ms` are over or the signal aborts; resolves in each case. */
export async function more(
  spool: ReadableSpool,
  position: Position,
  { clock, ms, signal }: { clock: Clock; ms: number; signal: AbortSignal },
): Promise<void> {
  if (signal.aborted) return
  const over = new AbortController()
  const end = () => over.abort()
  signal.addEventListener('abort', end, { once: true })
  try {
    const waits = [spool.waitFor(position, over.signal)]
    if (ms < Infinity) waits.push(clock.sleep(ms, over.signal))
    await Promise.race(waits)
  } catch (error) {
    if (!over.signal.aborted) throw error
  } finally {
    over.abort()
    signal.removeEventListener('abort', end)
  }
}
