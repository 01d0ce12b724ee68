import type { Budget } from '../language/budget.js'
import { stepHolds } from './look.js'
import { CLASS, LOOK, MATCH, SAVE, SPLIT, type LookStep, type Program } from './program.js'

/** Cost of following one thread, in steps of the budget. */
const THREAD_STEPS = 8

/**
 * Finds the position of a match and of its groups. All ways are followed together in order of preference (Pike's
 * method), so that time is text length times program size, for any pattern.
 */
export class Captures {
  readonly #program: Program
  readonly #none: readonly number[]

  constructor(program: Program, groups: number) {
    this.#program = program
    this.#none = Array.from({ length: (groups + 1) * 2 }, () => -1)
  }

  /**
   * Returns the leftmost match. Of several, the first by the pattern's own order. Group n has the byte offsets at 2n
   * and 2n+1, which are -1 if the group did not take part.
   */
  exec(text: string, budget: Budget): number[] | undefined {
    const { kinds, next: nexts, other, accepts, start, anchored } = this.#program
    let current: Thread[] = []
    let next: Thread[] = []
    const seen = new Int32Array(kinds.length).fill(-1)
    let found: number[] | undefined
    for (let at = 0; at <= text.length; at++) {
      // Threads of an earlier beginning are first, so a new one is added last and only until a match is found.
      if (found === undefined && (at === 0 || !anchored)) {
        this.#follow({ step: start, slots: this.#none.with(0, at) }, { text, at, budget }, seen, current)
      }
      if (current.length === 0 && (found !== undefined || anchored)) return found
      const byte = at < text.length ? text.charCodeAt(at) : -1
      next.length = 0
      for (const { step: id, slots } of current) {
        if (kinds[id] === MATCH) {
          found = slots.with(1, at)
          break
        }
        if (kinds[id] === CLASS && byte !== -1 && accepts[other[id] as number]?.[byte] === 1) {
          this.#follow({ step: nexts[id] as number, slots }, { text, at: at + 1, budget }, seen, next)
        }
      }
      ;[current, next] = [next, current]
    }
    return found
  }

  /** Adds every step that a thread reaches without a byte, in order of preference. */
  #follow(from: Thread, { text, at, budget }: Point, seen: Int32Array, into: Thread[]): void {
    const { kinds, next, other, looks } = this.#program
    const stack = [from]
    let followed = 0
    for (let thread = stack.pop(); thread !== undefined; thread = stack.pop()) {
      const { step: id, slots } = thread
      followed++
      if (seen[id] === at) continue
      seen[id] = at
      const [after, detail] = [next[id] as number, other[id] as number]
      switch (kinds[id]) {
        case SPLIT:
          stack.push({ step: detail, slots }, { step: after, slots })
          break
        case SAVE:
          followed += slots.length >> 2
          stack.push({ step: after, slots: slots.with(detail, at) })
          break
        case LOOK:
          if (stepHolds(looks[detail] as LookStep, text, at)) stack.push({ step: after, slots })
          break
        default:
          into.push(thread)
      }
    }
    budget.spend(followed * THREAD_STEPS)
  }
}

/** A position in the text. */
interface Point {
  readonly text: string
  readonly at: number
  readonly budget: Budget
}

interface Thread {
  readonly step: number
  readonly slots: number[]
}
