import type { Position } from '../types.js'
import { positionOfMessage } from './frame.js'

const MAX_ENTRIES = 4096

/** Counts the records of messages, to show the lag of a reader. Older messages are counted together. */
export class ArrivedCounts {
  #entries: { readonly sequence: number; count: number }[] = []

  add(sequence: number, count: number): void {
    let at = this.#entries.length
    while (at > 0 && this.#entries[at - 1]!.sequence > sequence) at--
    if (this.#entries[at - 1]?.sequence === sequence) return
    this.#entries.splice(at, 0, { sequence, count })
    if (this.#entries.length <= MAX_ENTRIES) return
    const [oldest] = this.#entries.splice(0, 1)
    this.#entries[0]!.count += oldest!.count
  }

  /** Returns how many records are known from a position on. */
  since(position: Position): number {
    let records = 0
    for (let at = this.#entries.length - 1; at >= 0; at--) {
      const { sequence, count } = this.#entries[at]!
      const passed = Math.max(0, position - positionOfMessage(sequence))
      if (passed >= count) break
      records += count - passed
    }
    return records
  }
}
