import type { Clock } from '../../src/core/clock.js'
import { hashOf, type Random } from './random.js'

const START = Date.parse('2026-11-21T12:00:00Z')
/** Saved, because a run replaces the global one. */
const turn = globalThis.setImmediate
/** Steps between two turns of the event loop, in which rejections that nobody handles are reported. */
const TURN_STEPS = 64

/** Waits for a turn of the event loop. */
export const turned = async (): Promise<void> => await new Promise<void>((resolve) => void turn(resolve))

/** Lets all promises that can settle do so. A tick runs after all of these, and costs much less than a turn. */
const drained = async (): Promise<void> => await new Promise<void>((resolve) => process.nextTick(resolve))

/** One life of a daemon. Each port belongs to one, so that a dead daemon changes nothing any more. */
export class Life {
  alive = true
  readonly name: string
  /** Difference between its wall clock and the true time. */
  skewMs = 0

  constructor(name: string) {
    this.name = name
  }
}

interface Task {
  readonly life: Life
  readonly label: string
  readonly at: number
  readonly run: () => void
}

/**
 * Time and order of everything that a port answers. Code between two calls of ports depends on nothing else, so a seed
 * decides a whole run.
 */
export class Scheduler {
  steps = 0
  /** Milliseconds since the start. */
  time = 0
  /** Hash of all steps, to compare two runs of a seed. */
  hash = 0
  /** The life whose code runs. */
  current = new Life('none')
  #tasks: Task[] = []
  readonly #random: Random
  readonly #inOrder: boolean
  readonly #said: ((line: string) => void) | undefined

  /** With `inOrder` the oldest task runs first. */
  constructor(random: Random, { inOrder = false, said }: { inOrder?: boolean; said?: (line: string) => void } = {}) {
    this.#random = random
    this.#inOrder = inOrder
    this.#said = said
  }

  get idle(): boolean {
    return this.#tasks.length === 0
  }

  /** Does `work` in a later step, after a delay. Never resolves if the life ends first. */
  async call<T>(life: Life, label: string, work: () => T, delayMs = 0): Promise<T> {
    return await new Promise((resolve, reject) => {
      this.later(life, label, delayMs, () => {
        try {
          resolve(work())
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  later(life: Life, label: string, delayMs: number, run: () => void): void {
    if (life.alive) this.#tasks.push({ life, label, at: this.time + delayMs, run })
  }

  cancel(run: () => void): void {
    this.#tasks = this.#tasks.filter((task) => task.run !== run)
  }

  /** Ends a life at once. */
  kill(life: Life): void {
    life.alive = false
    this.#tasks = this.#tasks.filter((task) => task.life !== life)
    this.say(`--- ${life.name} is killed`)
  }

  /** Stops a life for a while. Then it goes on, with all timers that are due by then. */
  pause(life: Life, ms: number): void {
    this.say(`--- ${life.name} pauses for ${ms} ms`)
    const until = this.time + ms
    this.#tasks = this.#tasks.map((task) => (task.life === life ? { ...task, at: Math.max(task.at, until) } : task))
  }

  /** Runs one task, or moves the time to the next one. Returns false if there is none. */
  async step(): Promise<boolean> {
    await (this.steps % TURN_STEPS === 0 ? turned() : drained())
    if (this.#tasks.length === 0) return false
    const due: number[] = []
    let next = Infinity
    for (const [index, { at }] of this.#tasks.entries()) {
      if (at <= this.time) due.push(index)
      next = Math.min(next, at)
    }
    if (due.length === 0) {
      this.time = next
      return true
    }
    const [task] = this.#tasks.splice(due[this.#inOrder ? 0 : this.#random.below(due.length)]!, 1)
    this.steps++
    this.current = task!.life
    this.hash = hashOf(task!.label, this.hash)
    this.#said?.(`${this.steps} ${this.time} ${task!.life.name} ${task!.label}`)
    task!.run()
    return true
  }

  say(line: string): void {
    this.#said?.(`${this.steps} ${this.time} ${line}`)
  }

  clock(life: Life): Clock {
    return {
      now: () => Math.floor(START + this.time + life.skewMs),
      monotonic: () => this.time,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted()
        await new Promise<void>((resolve, reject) => {
          const run = () => {
            signal?.removeEventListener('abort', abort)
            resolve()
          }
          const abort = () => {
            this.cancel(run)
            reject(signal!.reason as Error)
          }
          signal?.addEventListener('abort', abort, { once: true })
          this.later(life, 'sleep', Math.max(0, ms), run)
        })
      },
    }
  }
}
