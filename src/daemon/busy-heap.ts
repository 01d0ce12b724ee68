import { growForTraffic } from '../core/heap-size.js'

/** Number of responses after which a proxy gets more memory for the garbage of requests. */
const BUSY_RESPONSES = 20_000
const INTERVAL_MS = 1000

/** Grows the heap once, after many requests. `responses` returns the number of finished ones. */
export class BusyHeap {
  readonly #timer: NodeJS.Timeout

  constructor(responses: () => number) {
    this.#timer = setInterval(() => {
      if (responses() < BUSY_RESPONSES) return
      this.close()
      growForTraffic()
    }, INTERVAL_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
