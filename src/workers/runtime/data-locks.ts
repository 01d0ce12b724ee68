const MAX_WAIT_MS = 30_000

/** Data on disk that processes have open. Each may be open in one process only. */
export class DataLocks {
  /** Resolve when the process that has the data open has ended. */
  readonly #held = new Map<string, Promise<void>>()

  /**
   * Resolves with a function that releases the data, after no other process has any of the data open. Rejects if that
   * takes too long.
   */
  async acquire(names: readonly string[]): Promise<() => void> {
    const until = performance.now() + MAX_WAIT_MS
    for (let blocked = this.#blocking(names); blocked; blocked = this.#blocking(names))
      await within(blocked, until - performance.now())
    const { promise, resolve } = deferred()
    for (const name of names) this.#held.set(name, promise)
    return () => {
      for (const name of names) if (this.#held.get(name) === promise) this.#held.delete(name)
      resolve()
    }
  }

  #blocking(names: readonly string[]): Promise<void> | undefined {
    return names.map((name) => this.#held.get(name)).find((held) => held !== undefined)
  }
}

/** Creates a promise with the function that resolves it. */
export function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  const steps: (() => void)[] = []
  const promise = new Promise<void>((resolve) => steps.push(resolve))
  return { promise, resolve: () => steps[0]?.() }
}

async function within(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('the data is still open in another process')), ms)
  })
  try {
    await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
