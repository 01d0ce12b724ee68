import { TOKEN_USES } from '../../../src/core/model/token.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Store } from '../../../src/core/store.js'
import type { Clock } from '../../../src/core/clock.js'

/** A use within this time after the stored one is not written. */
const EVERY_MS = 5 * 60_000
const MAX_KNOWN = 10_000

/** Stores when a token was last used, to within five minutes. No request waits for that. */
export class TokenUses {
  readonly #store: Store
  readonly #clock: Clock
  /** When each use was written, in milliseconds since 1970. */
  readonly #written = new Map<string, number>()

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Notes that a stored token was used. */
  used(scope: Scope, id: string): void {
    const now = this.#clock.now()
    const key = `${scope.id}/${id}`
    const stored = this.#store.get(TOKEN_USES, scope, id)?.value.at
    const last = Math.max(this.#written.get(key) ?? 0, stored === undefined ? 0 : Date.parse(stored))
    if (now - last < EVERY_MS) return
    if (this.#written.size >= MAX_KNOWN) this.#written.clear()
    this.#written.set(key, now)
    const value = { at: new Date(now).toISOString() }
    // A store that accepts no writes loses the time, and nothing else.
    void this.#store.batch([{ kind: TOKEN_USES, scope, id, value }]).catch(() => undefined)
  }
}
