import type { Clock } from '../../src/core/clock.js'

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

/** A clock that a test moves by hand; sleepers wake when it passes their time. */
export class HandClock implements Clock {
  #now: number
  #monotonic = 0
  readonly #sleepers = new Set<Sleeper>()

  constructor(now = Date.parse('2026-11-21T12:00:00Z')) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#monotonic
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const sleeper = { until: this.#monotonic + ms, wake: () => end(resolve) }
      const abort = () => end(() => reject(signal?.reason as Error))
      const end = (settle: () => void) => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', abort)
        settle()
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Lets time pass, and whoever wakes by it begin. */
  async advance(ms: number): Promise<void> {
    this.#monotonic += ms
    this.#now += ms
    for (const sleeper of this.#sleepers) if (sleeper.until <= this.#monotonic) sleeper.wake()
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Sets the clock on the wall; no time passes. */
  jump(ms: number): void {
    this.#now += ms
  }
}
