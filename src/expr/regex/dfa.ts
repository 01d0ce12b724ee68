import type { Budget } from '../language/budget.js'
import { holds } from './look.js'
import { CLASS, MATCH as MATCHED, SAVE, SPLIT, type LookStep, type Program } from './program.js'
import type { Simulation } from './simulate.js'

/**
 * Limits of the cache, for table entries and steps in states. They need about 200 KiB together. A full cache is
 * emptied.
 */
const MAX_ENTRIES = 32_768
const MAX_MEMBERS = 16_384
/** Within one text, this many new states in a row are examined, and must have served this many bytes each. */
const TRIAL_STATES = 256
const MIN_BYTES_PER_STATE = 10

/** Cost of a new state, and of each step in it, in steps of the budget. */
const STATE_STEPS = 64
const MEMBER_STEPS = 16

const UNKNOWN = 0
const DEAD = 1
const MATCH = 2

/**
 * A deterministic automaton built on demand. Each state is the set of steps that the program could be at, and a known
 * transition is one table access per byte. Conditions such as `$` are evaluated one byte late, when the bytes on both
 * sides are known. If states do not repeat, the simulation is used instead.
 */
export class LazyDfa {
  readonly #program: Program
  readonly #simulation: () => Simulation
  readonly #width: number
  /** One byte of each class, to evaluate the steps with. */
  readonly #sample: Int32Array
  #table = new Int32Array(0)
  #states: State[] = []
  #known = new Map<string, number>()
  #members = 0
  #start = 0

  constructor(program: Program, simulation: () => Simulation) {
    this.#program = program
    this.#simulation = simulation
    this.#width = program.classCount + 1
    this.#sample = new Int32Array(program.classCount)
    for (let byte = 255; byte >= 0; byte--) this.#sample[program.classes[byte] as number] = byte
    this.#reset()
  }

  /** Returns the engine that stores no states. */
  get fallback(): Simulation {
    return this.#simulation()
  }

  /** Returns whether the pattern is found in the text. */
  test(text: string, budget: Budget): boolean {
    budget.spend(4 + ((text.length * 5) >> 3))
    const { classes } = this.#program
    const width = this.#width
    let table = this.#table
    let state = this.#start
    if (state <= MATCH) return state === MATCH
    let made = 0
    let since = 0
    for (let at = 0; at < text.length; at++) {
      const byteClass = classes[text.charCodeAt(at)] as number
      let to = table[state * width + byteClass] as number
      if (to <= MATCH) {
        if (to === UNKNOWN) {
          if (made === TRIAL_STATES) {
            if (at - since < TRIAL_STATES * MIN_BYTES_PER_STATE) return this.fallback.test(text, budget)
            made = 0
            since = at
          }
          made++
          if (this.#full()) state = this.#flush(state)
          to = this.#step(state, byteClass, budget)
          table = this.#table
        }
        if (to === MATCH) return true
        if (to === DEAD) return false
      }
      state = to
    }
    let to = table[state * width + width - 1] as number
    if (to === UNKNOWN) to = this.#step(state, width - 1, budget)
    return to === MATCH
  }

  #full(): boolean {
    return this.#states.length * this.#width >= MAX_ENTRIES || this.#members >= MAX_MEMBERS
  }

  #reset(): void {
    this.#states = [NO_STATE, NO_STATE, NO_STATE]
    this.#known = new Map()
    this.#members = 0
    this.#table = new Int32Array(Math.max(4, 16) * this.#width)
    const kernel = new Kernel(this.#program)
    kernel.add(this.#program.start, undefined)
    this.#start = kernel.matched ? MATCH : this.#state(kernel.members, -1)
  }

  /** Empties the cache, except for one state. */
  #flush(keep: number): number {
    const { members, before } = this.#states[keep] as State
    this.#reset()
    return this.#state(members, before)
  }

  /** Returns the number of the state with these steps, reached by a byte of type `before`. */
  #state(members: readonly number[], before: number): number {
    if (members.length === 0) return DEAD
    const key = `${before}:${members.join()}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const state = this.#states.push({ members, before }) - 1
    this.#known.set(key, state)
    this.#members += members.length
    if (this.#states.length * this.#width > this.#table.length) {
      const larger = new Int32Array(this.#table.length * 2)
      larger.set(this.#table)
      this.#table = larger
    }
    return state
  }

  /** Finds and stores the transition of a state for a class of bytes. The last class is the end of the text. */
  #step(from: number, byteClass: number, budget: Budget): number {
    const { next, other, accepts, anchored, start, looks } = this.#program
    const hasLooks = looks.length > 0
    const end = byteClass === this.#width - 1
    const byte = end ? -1 : (this.#sample[byteClass] as number)
    const { members, before } = this.#states[from] as State
    budget.spend(STATE_STEPS + members.length * MEMBER_STEPS)

    // First the conditions between the last byte and this one, which may lead to the end of the pattern.
    let settled = members
    if (hasLooks) {
      const kernel = new Kernel(this.#program)
      for (const member of members) kernel.add(member, { before, after: byte })
      if (kernel.matched) return this.#note(from, byteClass, MATCH)
      settled = kernel.members
    }
    if (end) return this.#note(from, byteClass, DEAD)
    const kernel = new Kernel(this.#program)
    for (const member of settled) {
      // Only steps of classes are left, because conditions are resolved above.
      if (accepts[other[member] as number]?.[byte] === 1) kernel.add(next[member] as number, undefined)
    }
    if (!anchored) kernel.add(start, undefined)
    if (kernel.matched) return this.#note(from, byteClass, MATCH)
    budget.spend(kernel.members.length * MEMBER_STEPS)
    return this.#note(from, byteClass, this.#state(kernel.members, hasLooks ? kindOf(byte) : 0))
  }

  #note(from: number, byteClass: number, to: number): number {
    this.#table[from * this.#width + byteClass] = to
    return to
  }
}

interface State {
  /** Ascending numbers of steps that wait for a byte or for a condition. */
  readonly members: readonly number[]
  /** A byte that represents the type of the previous one, as far as conditions distinguish it; -1 at the start. */
  readonly before: number
}

const NO_STATE: State = { members: [], before: 0 }

/** Returns the first byte of the same type. The types are line feed, carriage return, word and other. */
function kindOf(byte: number): number {
  if (byte === 10 || byte === 13) return byte
  return holds('wordStartHalf', byte, -1) ? 0x20 : 0x61
}

/** Collects the steps that are reached without a byte. Conditions remain in it unless both of their sides are known. */
class Kernel {
  readonly #program: Program
  readonly #seen = new Set<number>()
  readonly #found: number[] = []
  matched = false

  constructor(program: Program) {
    this.#program = program
  }

  add(entry: number, sides: { before: number; after: number } | undefined): void {
    const { kinds, next, other, looks } = this.#program
    const stack = [entry]
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      if (this.#seen.has(id)) continue
      this.#seen.add(id)
      const kind = kinds[id]
      if (kind === MATCHED) this.matched = true
      else if (kind === SPLIT) stack.push(other[id] as number, next[id] as number)
      else if (kind === SAVE) stack.push(next[id] as number)
      else if (kind === CLASS || sides === undefined) this.#found.push(id)
      else if (holds((looks[other[id] as number] as LookStep).look, sides.before, sides.after))
        stack.push(next[id] as number)
    }
  }

  get members(): readonly number[] {
    return this.#found.sort((a, b) => a - b)
  }
}
