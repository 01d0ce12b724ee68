import type { Position } from './types.js'

/** Readers that wait for records that are not there yet. */
export class Waiters {
  readonly #waiting = new Set<{ position: Position; wake: () => void }>()

  /** Resolves when `arrived` is called with an end beyond `position`. */
  async wait(position: Position, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const waiter = {
        position,
        wake: () => {
          signal.removeEventListener('abort', stop)
          resolve()
        },
      }
      const stop = () => {
        this.#waiting.delete(waiter)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', stop, { once: true })
      this.#waiting.add(waiter)
    })
  }

  arrived(end: Position): void {
    for (const waiter of this.#waiting) {
      if (waiter.position >= end) continue
      this.#waiting.delete(waiter)
      waiter.wake()
    }
  }
}
