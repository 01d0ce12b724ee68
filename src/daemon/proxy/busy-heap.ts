import { eachSecond } from '../../core/schedule/each-second.js'
import { growForTraffic } from '../../core/memory/heap-size.js'

/** Number of responses after which a proxy gets more memory for the garbage of requests. */
const BUSY_RESPONSES = 20_000
/** The same for the API, whose requests leave more garbage. */
export const BUSY_API_RESPONSES = 5000

/** Grows the heap once, after `many` requests. `responses` returns the number of finished ones. */
export class BusyHeap {
  readonly #end: () => void

  constructor(responses: () => number, many = BUSY_RESPONSES) {
    this.#end = eachSecond(() => {
      if (responses() < many) return
      this.close()
      growForTraffic()
    })
  }

  close(): void {
    this.#end()
  }
}
