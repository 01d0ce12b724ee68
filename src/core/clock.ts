import { setTimeout as wait } from 'node:timers/promises'

/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Milliseconds since 1970. Can jump. */
  now(): number
  /** Milliseconds since an arbitrary start. Never decreases. For durations and due times within a process. */
  monotonic(): number
  /** Resolves after `ms`. Rejects with the signal's reason if it aborts first. Does not keep the process alive. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await wait(ms, undefined, { ref: false, ...(signal && { signal }) })
  },
}
