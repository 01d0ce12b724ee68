import { messageOf } from './errors.js'
import type { Log } from './log.js'

/** A resource that can be closed. */
export interface Closable {
  close(): Promise<void> | void
}

/** A stack of open resources. Closes them in reverse order, even if closing one fails. */
export class ClosingStack {
  readonly #open: Closable[] = []
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  use<T extends Closable>(thing: T): T {
    this.#open.push(thing)
    return thing
  }

  async close(): Promise<void> {
    for (let thing = this.#open.pop(); thing; thing = this.#open.pop()) {
      try {
        await thing.close()
      } catch (error) {
        this.#log.error({ event: 'close_failed', error: messageOf(error) })
      }
    }
  }
}
