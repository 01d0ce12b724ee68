import { holds, holdsUnicode } from './look.js'
import { acceptTables, type Program, type Step } from './program.js'

/**
 * Runs a program step by step over all ways at once (Pike's method): time is text length times program size, whatever
 * the pattern. Slow next to the automaton, but it knows captures and Unicode word edges and needs no cache.
 */
export class Simulation {
  readonly #program: Program
  readonly #accepts: (Uint8Array | undefined)[]
  readonly #slotCount: number

  constructor(program: Program, groups: number) {
    this.#program = program
    this.#accepts = acceptTables(program.steps)
    this.#slotCount = (groups + 1) * 2
  }

  /** Whether the pattern is found anywhere at or after `from`, with the text before it known. */
  test(text: string): boolean {
    return this.#run(text, false) !== undefined
  }

  /**
   * The leftmost match, the first by the pattern's own order: for group n the byte offsets at 2n and 2n+1, -1 where the
   * group took no part.
   */
  exec(text: string): number[] | undefined {
    return this.#run(text, true)
  }

  #run(text: string, captures: boolean): number[] | undefined {
    const { steps, start, anchored } = this.#program
    const none: number[] = captures ? Array.from({ length: this.#slotCount }, () => -1) : []
    let current: Thread[] = []
    let next: Thread[] = []
    const seen = new Int32Array(steps.length).fill(-1)
    let found: number[] | undefined
    for (let at = 0; at <= text.length; at++) {
      // Threads of an earlier beginning come first, so a new one is added last and only while nothing is found.
      if (found === undefined && (at === 0 || !anchored)) {
        const slots = captures ? none.with(0, at) : none
        this.#follow(start, slots, text, at, seen, current, at)
      }
      if (current.length === 0 && (found !== undefined || anchored)) return found
      const byte = at < text.length ? text.charCodeAt(at) : -1
      next.length = 0
      for (const thread of current) {
        const step = steps[thread.step] as Step
        if (step.kind === 'match') {
          found = captures ? thread.slots.with(1, at) : thread.slots
          if (!captures) return found
          break
        }
        if (byte !== -1 && this.#accepts[thread.step]?.[byte] === 1) {
          this.#follow((step as Step & { kind: 'class' }).next, thread.slots, text, at + 1, seen, next, at + 1)
        }
      }
      ;[current, next] = [next, current]
    }
    return found
  }

  /** Adds every step that is reached from `entry` without a byte, in order of preference. */
  #follow(entry: number, slots: number[], text: string, at: number, seen: Int32Array, into: Thread[], mark: number) {
    const { steps } = this.#program
    const stack: Thread[] = [{ step: entry, slots }]
    for (let thread = stack.pop(); thread !== undefined; thread = stack.pop()) {
      const { step: id, slots: held } = thread
      if (seen[id] === mark) continue
      seen[id] = mark
      const step = steps[id] as Step
      switch (step.kind) {
        case 'split':
          stack.push({ step: step.other, slots: held }, { step: step.next, slots: held })
          break
        case 'save':
          stack.push({ step: step.next, slots: held.length > 0 ? held.with(step.slot, at) : held })
          break
        case 'look':
          if (lookHolds(step, text, at)) stack.push({ step: step.next, slots: held })
          break
        default:
          into.push(thread)
      }
    }
  }
}

interface Thread {
  readonly step: number
  readonly slots: number[]
}

function lookHolds(step: Step & { kind: 'look' }, text: string, at: number): boolean {
  if (step.unicode) return holdsUnicode(step.look, text, at)
  return holds(step.look, at === 0 ? -1 : text.charCodeAt(at - 1), at === text.length ? -1 : text.charCodeAt(at))
}
