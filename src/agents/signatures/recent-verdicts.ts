import type { VerdictCache } from './verify.js'

type Known = NonNullable<ReturnType<VerdictCache['get']>>

const MAX_VERDICTS = 4096

/** The last verdicts about signatures, the least used one first. */
export class RecentVerdicts implements VerdictCache {
  readonly #known = new Map<string, Known>()

  get(id: string): Known | undefined {
    const verdict = this.#known.get(id)
    if (verdict === undefined) return undefined
    this.#known.delete(id)
    this.#known.set(id, verdict)
    return verdict
  }

  set(id: string, verdict: Known): void {
    this.#known.delete(id)
    if (this.#known.size >= MAX_VERDICTS) this.#known.delete(this.#known.keys().next().value!)
    this.#known.set(id, verdict)
  }
}
