/** Work continues for this long before other work has its turn. */
const SLICE_MS = 4

/** Called between the steps of long work. Resolves immediately, or in a later turn of the event loop. */
export type Pause = () => Promise<void>

/**
 * Shares the thread. Tasks work in slices of a few milliseconds, one slice in each turn of the event loop, so that a
 * request of the proxy never waits for more than one slice.
 */
export class EventLoopYield {
  readonly #waiting: (() => void)[] = []
  #began = performance.now()
  #scheduled = false

  /** Returns whether other work has its turn now. */
  get isOver(): boolean {
    return this.#scheduled || performance.now() - this.#began >= SLICE_MS
  }

  /** Resolves immediately during the slice, else in a later turn. */
  async yieldToEventLoop(): Promise<void> {
    if (!this.isOver) return
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#began = performance.now()
      this.#waiting.shift()?.()
      if (this.#waiting.length > 0) this.#schedule()
    })
  }
}

/** Items that are read between two pauses. */
const SLICE_ITEMS = 500

/** Yields the items of a long list in slices, with a pause after each. */
export async function* inSlices<T>(items: Iterable<T>, pause: Pause): AsyncGenerator<readonly T[]> {
  let slice: T[] = []
  for (const item of items) {
    if (slice.push(item) < SLICE_ITEMS) continue
    yield slice
    slice = []
    await pause()
  }
  yield slice
}
