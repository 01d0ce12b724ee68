import type { Budget } from '../budget.js'
import { stepHolds } from './look.js'
import { acceptTables, type Program, type Step } from './program.js'

const CLASS = 0
const SPLIT = 1
const LOOK = 2
const MATCH = 3

/**
 * Returns whether a pattern is found, following all ways together without a cache: time is text length times program
 * size, memory that of the program. Used if the automaton's states do not repeat.
 */
export class Simulation {
  readonly #program: Program
  readonly #kinds: Uint8Array
  readonly #next: Int32Array
  readonly #other: Int32Array
  readonly #accepts: readonly (Uint8Array | undefined)[]

  constructor(program: Program) {
    const { steps } = program
    this.#program = program
    this.#accepts = acceptTables(steps)
    this.#kinds = Uint8Array.from(
      steps,
      ({ kind }) => ({ class: CLASS, split: SPLIT, save: SPLIT, look: LOOK, match: MATCH })[kind],
    )
    this.#next = Int32Array.from(steps, (step) => (step.kind === 'match' ? 0 : step.next))
    this.#other = Int32Array.from(steps, (step) =>
      step.kind === 'split' ? step.other : step.kind === 'save' ? step.next : 0,
    )
  }

  test(text: string, budget: Budget): boolean {
    const { steps, start, anchored } = this.#program
    const [kinds, nexts, others, accepts] = [this.#kinds, this.#next, this.#other, this.#accepts]
    budget.spend(1 + (steps.length >> 3))
    // Steps to be at, in any order; a step may add to its own list, or to that of the next byte.
    let now = new Int32Array(steps.length)
    let then = new Int32Array(steps.length)
    let count = 0
    const seen = new Int32Array(steps.length).fill(-1)
    for (let at = 0; at <= text.length; at++) {
      if ((at === 0 || !anchored) && seen[start] !== at) {
        seen[start] = at
        now[count++] = start
      }
      if (count === 0) return false
      const byte = at < text.length ? text.charCodeAt(at) : -1
      let later = 0
      // First all steps without a byte, marked as seen at this position; then the bytes, marked for the next one.
      for (let i = 0; i < count; i++) {
        const id = now[i] as number
        const kind = kinds[id]
        if (kind === CLASS) continue
        if (kind === MATCH) return true
        if (kind === LOOK && !stepHolds(steps[id] as Step & { kind: 'look' }, text, at)) continue
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
        if (kinds[id] !== CLASS || (accepts[id] as Uint8Array)[byte] === 0) continue
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
