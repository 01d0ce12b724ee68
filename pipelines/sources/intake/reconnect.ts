import type { Clock } from '../../../src/core/clock.js'
import { messageOf } from '../../../src/core/errors.js'

/** The source cannot be read in any number of attempts, for example because its server rejects the credentials. */
export class SourceRejected extends Error {
  override readonly name = 'SourceRejected'
}

/** The records of a source cannot be stored. The server is not the reason. */
export class NotStored extends Error {
  override readonly name = 'NotStored'

  constructor(cause: unknown) {
    super(messageOf(cause), { cause })
  }
}

export interface ReconnectDeps {
  /** Name of the source, in messages. */
  readonly place: string
  /** Called with messages for the user. */
  readonly tell: (message: string) => void
  readonly clock: Clock
  readonly signal: AbortSignal
}

const MIN_RETRY_MS = 1000
const MAX_RETRY_MS = 30_000

/**
 * Runs `session` until it resolves or the signal aborts, again after each failure. Each failure is reported once, and
 * so is its end. A session calls `working` when it can read. Rejects with SourceRejected and NotStored of a session.
 */
export async function reconnecting(
  session: (working: () => void) => Promise<void>,
  { place, tell, clock, signal }: ReconnectDeps,
): Promise<void> {
  let failures = 0
  let reported: string | undefined
  const working = () => {
    if (reported !== undefined) tell(`reading ${place} again`)
    failures = 0
    reported = undefined
  }
  while (!signal.aborted) {
    try {
      return await session(working)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof SourceRejected || error instanceof NotStored) throw error
      const message = messageOf(error)
      if (message !== reported) tell(`cannot read ${place}: ${message}; trying again`)
      reported = message
      await clock.sleep(Math.min(MAX_RETRY_MS, MIN_RETRY_MS * 2 ** Math.min(failures++, 10)), signal)
    }
  }
}

/** Waits for work, or until the signal aborts. */
export async function orAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => {})
  if (signal.aborted) return
  let stop: () => void
  const stopped = new Promise<void>((resolve) =>
    signal.addEventListener('abort', (stop = () => resolve()), { once: true }),
  )
  try {
    await Promise.race([work, stopped])
  } finally {
    signal.removeEventListener('abort', stop!)
  }
}
