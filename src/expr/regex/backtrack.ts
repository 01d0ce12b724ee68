import type { Budget } from '../language/budget.js'
import { stepHolds } from './look.js'
import { CLASS, LOOK, SAVE, SPLIT, type LookStep, type Program } from './program.js'

/** Maximum pairs of a step and a position, one bit each. */
const MAX_PAIRS = 16_777_216
/** Steps between two looks at the budget. */
const SPENT_TOGETHER = 1024

/**
 * Finds the position of a match and of its groups by backtracking that tries no step twice at one position. The time is
 * at most text length times program size, for any pattern. For most lines of logs it is near the text length.
 */
export class Backtracker {
  readonly #program: Program
  readonly #slots: Int32Array
  /** Pairs of a step and a position from which nothing was found. */
  #tried = new Int32Array(0)
  /** Ways that are left: a step and its position, or a slot, inverted, and its value before. */
  #ways: number[] = []

  /** `program` has captures. */
  constructor(program: Program, groups: number) {
    this.#program = program
    this.#slots = new Int32Array((groups + 1) * 2)
  }

  /** Returns whether a text is short enough for {@link exec}. */
  fits(text: string): boolean {
    return this.#program.kinds.length * (text.length + 1) <= MAX_PAIRS
  }

  /**
   * Returns the leftmost match, of several the first by the pattern's own order. Group n has its offsets at 2n and
   * 2n+1, which are -1 if the group did not take part. The next call reuses the result.
   */
  exec(text: string, budget: Budget): Int32Array | undefined {
    const { kinds, anchored } = this.#program
    const words = Math.ceil((kinds.length * (text.length + 1)) / 32)
    if (words > this.#tried.length) this.#tried = new Int32Array(words)
    else this.#tried.fill(0, 0, words)
    budget.spend(1 + (words >> 2))
    const last = anchored ? 0 : text.length
    for (let at = 0; at <= last; at++) if (this.#matches(text, at, budget)) return this.#slots
    return undefined
  }

  #matches(text: string, start: number, budget: Budget): boolean {
    const { kinds, next: nexts, other: others, accepts, looks, start: first } = this.#program
    const { length } = text
    const width = length + 1
    const slots = this.#slots.fill(-1)
    const tried = this.#tried
    const ways = this.#ways
    ways.length = 0
    let step = first
    let at = start
    let steps = 0
    for (;;) {
      const pair = step * width + at
      const bit = 1 << (pair & 31)
      let isOver = (tried[pair >>> 5]! & bit) !== 0
      if (!isOver) {
        if (++steps % SPENT_TOGETHER === 0) budget.spend(SPENT_TOGETHER)
        tried[pair >>> 5]! |= bit
        const other = others[step]!
        switch (kinds[step]) {
          case CLASS:
            isOver = at === length || accepts[other]![text.charCodeAt(at)] !== 1
            at++
            break
          case SPLIT:
            ways.push(other, at)
            break
          case SAVE:
            ways.push(~other, slots[other]!)
            slots[other] = at
            break
          case LOOK:
            isOver = !stepHolds(looks[other] as LookStep, text, at)
            break
          default:
            slots[0] = start
            slots[1] = at
            return true
        }
        step = nexts[step]!
      }
      if (!isOver) continue
      for (;;) {
        const before = ways.pop()
        if (before === undefined) {
          budget.spend(steps % SPENT_TOGETHER)
          return false
        }
        const way = ways.pop()!
        if (way >= 0) {
          step = way
          at = before
          break
        }
        slots[~way] = before
      }
    }
  }
}
