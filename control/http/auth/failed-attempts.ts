import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../src/core/clock.js'
import { ApiError } from '../errors.js'

/** Failures of one address per minute. Further requests of the address get 429 until the minute ends. */
const MAX_FAILURES = 60
const WINDOW_MS = 60_000
/** Maximum number of addresses counted. Beyond it, the least recently counted one is dropped. */
const MAX_ADDRESSES = 10_000

interface Window {
  failures: number
  /** Monotonic time at which the window ends. */
  readonly until: number
}

/** Counts wrong credentials by client address, which limits the rate of guessing. */
export class FailedAttempts {
  readonly #windows = new LRUCache<string, Window>({ max: MAX_ADDRESSES })
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Throws `tooManyFailures` if the address has no attempt left. */
  check(address: string): void {
    const now = this.#clock.monotonic()
    const window = this.#windows.get(networkOf(address))
    if (!window || window.until <= now || window.failures < MAX_FAILURES) return
    const seconds = Math.max(1, Math.ceil((window.until - now) / 1000))
    throw new ApiError('tooManyFailures', undefined, { headers: { 'retry-after': String(seconds) } })
  }

  count(address: string): void {
    const now = this.#clock.monotonic()
    const network = networkOf(address)
    const known = this.#windows.get(network)
    if (known && known.until > now) known.failures += 1
    else this.#windows.set(network, { failures: 1, until: now + WINDOW_MS })
  }
}

/** Returns the /64 network of an IPv6 address, which usually belongs to one client, and other addresses unchanged. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  if (tail === undefined) return groups.slice(0, 4).join(':')
  const rest = tail.split(':')
  return [...groups, ...Array<string>(Math.max(0, 8 - groups.length - rest.length)).fill('0'), ...rest]
    .slice(0, 4)
    .join(':')
}
