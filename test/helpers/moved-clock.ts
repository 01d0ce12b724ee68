import { createHook } from 'node:async_hooks'
import type { Clock } from '../../src/core/clock.js'

interface Sleeper {
  readonly due: number
  readonly wake: () => void
}

/** Pending operations of the disk: they take real time, during which this clock stops. */
const atWork = new Set<number>()
createHook({
  init(id, type) {
    if (type.startsWith('FSREQ')) atWork.add(id)
  },
  before: (id) => void atWork.delete(id),
  destroy: (id) => void atWork.delete(id),
}).enable()

/** A clock that stops until it is moved. */
export class MovedClock implements Clock {
  #now: number
  #monotonic = 0
  readonly #sleepers = new Set<Sleeper>()

  constructor(now: string) {
    this.#now = Date.parse(now)
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
      const end = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason as Error)
      }
      const wake = () => {
        this.#sleepers.delete(sleeper)
        signal?.removeEventListener('abort', end)
        resolve()
      }
      const sleeper = { due: this.#monotonic + ms, wake }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', end, { once: true })
    })
  }

  move(ms: number): void {
    this.#now += ms
    this.#monotonic += ms
    for (const { due, wake } of [...this.#sleepers].sort((a, b) => a.due - b.due)) if (due <= this.#monotonic) wake()
  }

  /** Advances in steps until a condition holds. Waits for the disk, so that a slow one uses no time of this clock. */
  async until(is: () => boolean, { step = 250, most = 40_000 } = {}): Promise<void> {
    for (let steps = 0; !is(); steps++) {
      if (steps === most) throw new Error('it did not come to pass')
      do await new Promise((resolve) => setTimeout(resolve, 1))
      while (atWork.size > 0)
      this.move(step)
    }
  }

  /** Advances by this time, in steps. */
  async pass(ms: number, step = 250): Promise<void> {
    const end = this.#monotonic + ms
    await this.until(() => this.#monotonic >= end, { step })
  }
}
