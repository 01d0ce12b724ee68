import type { Clock } from '../../../src/core/clock.js'
import { FAILED_ATTEMPTS, type FailedWindows } from '../../../src/core/model/token.js'
import { DAEMON } from '../../../src/core/scope.js'
import { changesOf, type Store } from '../../../src/core/store.js'

/** The other machines get the counts of this one this often while they change. */
const PUBLISH_MS = 1000
/** Networks that the other machines are notified of: those with the most failures. */
const MAX_PUBLISHED = 200
/** Counts below this are not worth a write. */
const MIN_FAILURES = 5

/** Wrong credentials count for this time. */
export const WINDOW_MS = 60_000

export interface SharedFailuresDeps {
  readonly store: Pick<Store, 'batch' | 'list' | 'watch'>
  readonly clock: Clock
  /** Distinguishes this machine from the others with the same store. */
  readonly machine: string
}

/** Wrong credentials that other machines with the same store counted, by the network of the client. */
export class SharedFailures {
  readonly #deps: SharedFailuresDeps
  /** Failures by network, and until when they count on the monotonic clock, by machine. */
  readonly #others = new Map<string, ReadonlyMap<string, { readonly failures: number; readonly until: number }>>()
  #publishing = false

  constructor(deps: SharedFailuresDeps) {
    this.#deps = deps
    const { store } = deps
    for (const { id, value } of store.list(FAILED_ATTEMPTS)) this.#received(id, value)
    store.watch((changes) => {
      for (const { id, value } of changesOf(FAILED_ATTEMPTS, changes))
        if (value !== undefined) this.#received(id, value)
    })
  }

  /** Returns the failures that other machines counted for a network, and how long they count in milliseconds. */
  of(network: string): { failures: number; forMs: number } {
    const now = this.#deps.clock.monotonic()
    let failures = 0
    let until = now
    for (const windows of this.#others.values()) {
      const window = windows.get(network)
      if (!window || window.until <= now) continue
      failures += window.failures
      until = Math.max(until, window.until)
    }
    return { failures, forMs: until - now }
  }

  /** Sends the counts of this machine to the others soon. `windows`: network, failures and milliseconds left of each. */
  changed(windows: () => Iterable<readonly [network: string, failures: number, leftMs: number]>): void {
    if (this.#publishing) return
    this.#publishing = true
    const { store, clock, machine } = this.#deps
    const publish = async (): Promise<void> => {
      await clock.sleep(PUBLISH_MS)
      this.#publishing = false
      const now = clock.now()
      const worst = [...windows()]
        .filter(([, failures, leftMs]) => failures >= MIN_FAILURES && leftMs > 0)
        .sort(([, a], [, b]) => b - a)
        .slice(0, MAX_PUBLISHED)
      if (worst.length === 0) return
      const value: FailedWindows = {
        windows: worst.map(([network, failures, leftMs]) => ({ network, failures, until: now + leftMs })),
      }
      await store.batch([{ kind: FAILED_ATTEMPTS, scope: DAEMON, id: machine, value }])
    }
    // Without the store each machine counts alone. The next failure tries again.
    publish().catch(() => undefined)
  }

  #received(machine: string, { windows }: FailedWindows): void {
    if (machine === this.#deps.machine) return
    const { clock } = this.#deps
    const until = (wall: number) => clock.monotonic() + Math.min(wall - clock.now(), WINDOW_MS)
    this.#others.set(
      machine,
      new Map(windows.map((window) => [window.network, { failures: window.failures, until: until(window.until) }])),
    )
  }
}
