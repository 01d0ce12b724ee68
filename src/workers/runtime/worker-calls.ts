/** Maximum number of concurrent calls from one Worker to another if both are in a circle. */
const MAX_IN_CIRCLE = 128

/**
 * Requests in flight from Workers to Workers of one account, or from process to process. The runtime does not report
 * which request caused another one, so Workers that call each other in a circle without passing `cdn-loop` on are found
 * by the number of their calls.
 */
export class WorkerCalls {
  /** Number of calls in flight, by caller and called Worker. */
  readonly #counts = new Map<string, Map<string, number>>()
  readonly #maxInCircle: number

  constructor(maxInCircle = MAX_IN_CIRCLE) {
    this.#maxInCircle = maxInCircle
  }

  /**
   * Counts a call. Returns a function that ends the call, or undefined if the Workers call each other in a circle too
   * often.
   */
  begin(from: string, to: string): (() => void) | undefined {
    const called = this.#counts.get(from) ?? new Map<string, number>()
    const count = called.get(to) ?? 0
    if (count >= this.#maxInCircle && this.reaches(to, from)) return undefined
    called.set(to, count + 1)
    this.#counts.set(from, called)
    let isEnded = false
    return () => {
      if (isEnded) return
      isEnded = true
      const left = (called.get(to) ?? 1) - 1
      if (left > 0) called.set(to, left)
      else called.delete(to)
      if (called.size === 0 && this.#counts.get(from) === called) this.#counts.delete(from)
    }
  }

  /** Returns whether calls in flight lead from one to the other, directly or through others. */
  reaches(from: string, to: string): boolean {
    const seen = new Set([from])
    for (const at of seen) for (const next of this.#counts.get(at)?.keys() ?? []) seen.add(next)
    return seen.has(to)
  }
}
