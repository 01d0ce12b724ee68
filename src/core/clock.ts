import { setTimeout as wait } from 'node:timers/promises'

/** Time, handed in, so that tests move it by hand. */
export interface Clock {
  /** Milliseconds since 1970, as the world tells it; may jump. */
  now(): number
  /** Milliseconds since some start; never goes back. For durations and due times within a run. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await wait(ms, undefined, { ref: false, ...(signal && { signal }) })
  },
}
