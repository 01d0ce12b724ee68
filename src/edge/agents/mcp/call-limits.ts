/** Calls of tools in a minute and at a time, for one address. */
const PER_MINUTE = 120
const AT_A_TIME = 4
const WINDOW_MS = 60_000
/** Addresses that are remembered. */
const MAX_ADDRESSES = 10_000

interface Calls {
  since: number
  count: number
  running: number
}

/** Limits calls of tools by address. */
export class CallLimits {
  readonly #monotonic: () => number
  readonly #byAddress = new Map<string, Calls>()

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  /** Counts a call until {@link end}. Returns the seconds to wait if there are too many, and counts nothing then. */
  begin(address: string): number | undefined {
    const now = this.#monotonic()
    let calls = this.#byAddress.get(address)
    this.#byAddress.delete(address)
    if (!calls || now - calls.since >= WINDOW_MS) calls = { since: now, count: 0, running: calls?.running ?? 0 }
    this.#byAddress.set(address, calls)
    this.#forget(now)
    if (calls.count >= PER_MINUTE) return Math.ceil((calls.since + WINDOW_MS - now) / 1000)
    if (calls.running >= AT_A_TIME) return 1
    calls.count++
    calls.running++
    return undefined
  }

  end(address: string): void {
    const calls = this.#byAddress.get(address)
    if (calls && calls.running > 0) calls.running--
  }

  /** Forgets the addresses that called least recently, if there are too many. */
  #forget(now: number): void {
    for (const [address, { since, running }] of this.#byAddress) {
      const isOld = now - since >= WINDOW_MS && running === 0
      if (!isOld && this.#byAddress.size <= MAX_ADDRESSES) return
      this.#byAddress.delete(address)
    }
  }
}
