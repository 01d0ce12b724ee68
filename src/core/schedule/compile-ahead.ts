import type { Clock } from '../clock.js'
import { compileNext } from '../schema.js'

/** The start and what follows it come first. */
const FIRST_MS = 3000
/** A slice ends with the schema that exceeds this time. One schema takes up to 15 ms. */
const SLICE_MS = 5
/** Each slice wakes a process that is idle. */
const PAUSE_MS = 400

/**
 * Compiles the schemas that nobody used yet, in slices with pauses. No request waits for several schemas, which together
 * take half a second. Resolves when all are compiled, or `signal` is aborted.
 */
export async function compileAhead(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(FIRST_MS, signal)
    while (compileSlice(clock)) await clock.sleep(PAUSE_MS, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Returns false if no schema is left. */
function compileSlice(clock: Clock): boolean {
  const end = clock.monotonic() + SLICE_MS
  while (compileNext()) if (clock.monotonic() >= end) return true
  return false
}
