import { MovedClock } from './moved-clock.js'

/** A clock that a test moves by hand, and whose wall clock can jump. */
export class HandClock extends MovedClock {
  #jumped = 0

  constructor(now = Date.parse('2026-11-21T12:00:00Z')) {
    super(new Date(now).toISOString())
  }

  override now(): number {
    return super.now() + this.#jumped
  }

  /** Advances the time and lets woken code begin. */
  async advance(ms: number): Promise<void> {
    this.move(ms)
    await new Promise((resolve) => setImmediate(resolve))
  }

  /** Sets the wall clock; no time passes. */
  jump(ms: number): void {
    this.#jumped += ms
  }
}
