import type { Clock } from '../clock.js'
import { compileNext } from '../schema.js'

/** The start and what follows it come first. */
const FIRST_MS = 3000
/** One schema takes up to 15 ms. */
const PAUSE_MS = 50

/**
 * Compiles the schemas that nobody used yet, one after the other with pauses. No request waits for several
 * schemas, which together take half a second. Resolves when all are compiled, or `signal` is aborted.
 */
export async function compileAhead(clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(FIRST_MS, signal)
    while (compileNext()) await clock.sleep(PAUSE_MS, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
