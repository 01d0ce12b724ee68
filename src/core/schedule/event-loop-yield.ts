/** Work continues for this long before other work has its turn. */
const SLICE_MS = 4

/** Called between the steps of long work. Resolves immediately, or in a later turn of the event loop. */
export type Pause = () => Promise<void>

/** Tasks that wait for their slice, in order. One list for the process: many lists would each start a slice in one turn. */
const waiting: (() => void)[] = []
/** Time at which the last slice began. */
let began = -Infinity
let isScheduled = false

/**
 * Shares the thread. Tasks work in slices of a few milliseconds. In each turn of the event loop one task of the process has one
 * slice, so that a request of the proxy never waits for more than one.
 */
export class EventLoopYield {
  /** Returns whether other work has its turn now. */
  get isOver(): boolean {
    return performance.now() - began >= SLICE_MS
  }

  /** Resolves immediately during the slice, else in a later turn. */
  async yieldToEventLoop(): Promise<void> {
    if (!this.isOver) return
    await new Promise<void>((resolve) => {
      waiting.push(resolve)
      schedule()
    })
  }
}

function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    began = performance.now()
    waiting.shift()?.()
    if (waiting.length > 0) schedule()
  })
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
