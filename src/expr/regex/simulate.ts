import type { Budget } from '../language/budget.js'
import { stepHolds } from './look.js'
import { CLASS, LOOK, MATCH, SPLIT, type LookStep, type Program } from './program.js'

/**
 * Returns whether a pattern is found, following all ways together without a cache. The time is the text length times
 * the program size, and the memory is the size of the program. Used if the automaton's states do not repeat.
 */
export class Simulation {
  readonly #program: Program

  constructor(program: Program) {
    this.#program = program
  }

  test(text: string, budget: Budget): boolean {
    const { kinds, next: nexts, other: others, accepts, looks, start, anchored } = this.#program
    const size = kinds.length
    budget.spend(1 + (size >> 3))
    // Steps to be at, in any order. A step may add to its own list, or to the list of the next byte.
    let now = new Int32Array(size)
    let then = new Int32Array(size)
    let count = 0
    const seen = new Int32Array(size).fill(-1)
    for (let at = 0; at <= text.length; at++) {
      if ((at === 0 || !anchored) && seen[start] !== at) {
        seen[start] = at
        now[count++] = start
      }
      if (count === 0) return false
      const byte = at < text.length ? text.charCodeAt(at) : -1
      let later = 0
      // Handles first all steps without a byte, marked as seen at this position, then the bytes, marked for the next
      // one.
      for (let i = 0; i < count; i++) {
        const id = now[i] as number
        const kind = kinds[id]
        if (kind === CLASS) continue
        if (kind === MATCH) return true
        if (kind === LOOK && !stepHolds(looks[others[id] as number] as LookStep, text, at)) continue
        const next = nexts[id] as number
        if (seen[next] !== at) {
          seen[next] = at
          now[count++] = next
        }
        const other = kind === SPLIT ? (others[id] as number) : next
        if (seen[other] !== at) {
          seen[other] = at
          now[count++] = other
        }
      }
      budget.spend(count)
      if (byte === -1) return false
      for (let i = 0; i < count; i++) {
        const id = now[i] as number
        if (kinds[id] !== CLASS || (accepts[others[id] as number] as Uint8Array)[byte] === 0) continue
        const next = nexts[id] as number
        if (seen[next] === at + 1) continue
        seen[next] = at + 1
        then[later++] = next
      }
      ;[now, then] = [then, now]
      count = later
    }
    return false
  }
}
