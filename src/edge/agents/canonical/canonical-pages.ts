/** Pages that are remembered, and the characters of their addresses. */
const MAX_PAGES = 10_000
const MAX_CHARACTERS = 4 * 1024 * 1024
/** The page may name another address after this time. */
const KEPT_MS = 600_000
/** Addresses that are followed from page to page. */
const MAX_STEPS = 8

interface Named {
  readonly canonical: string
  readonly until: number
}

/**
 * Remembers which canonical addresses pages name, so that no client is sent in a circle: pages may name each other. Memory
 * is bounded, and the page that was seen least recently is forgotten first.
 */
export class CanonicalPages {
  readonly #now: () => number
  readonly #named = new Map<string, Named>()
  #characters = 0

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#named.size
  }

  /** Records the other address that a page names, or that it names none. */
  saw(page: string, canonical: string | undefined): void {
    this.#forget(page)
    if (canonical === undefined) return
    this.#named.set(page, { canonical, until: this.#now() + KEPT_MS })
    this.#characters += page.length + canonical.length
    for (const [oldest] of this.#named) {
      if (this.#named.size <= MAX_PAGES && this.#characters <= MAX_CHARACTERS) break
      this.#forget(oldest)
    }
  }

  /** Returns the other address that a page named, undefined if that is not known. */
  of(page: string): string | undefined {
    const named = this.#named.get(page)
    return named !== undefined && named.until > this.#now() ? named.canonical : undefined
  }

  /** Returns whether addresses that pages name lead from one page to another, or do not end. */
  leads(from: string, to: string): boolean {
    let at: string | undefined = from
    for (let step = 0; step < MAX_STEPS && at !== undefined; step++) {
      if (at === to) return true
      at = this.of(at)
    }
    return at !== undefined
  }

  #forget(page: string): void {
    const named = this.#named.get(page)
    if (named === undefined) return
    this.#named.delete(page)
    this.#characters -= page.length + named.canonical.length
  }
}
