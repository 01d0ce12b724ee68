import { messageOf } from './errors.js'
import type { Log } from './log.js'

/** Something that is open and wants to be closed. */
export interface Closable {
  close(): Promise<void> | void
}

/** Holds what was opened, in order, and closes it in reverse order, whatever single closings do. */
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
