import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../src/core/clock.js'
import { ApiError } from '../errors.js'
import { WINDOW_MS, type SharedFailures } from './shared-failures.js'

/** Failures of one address per minute. Further requests of the address get 429 until the minute ends. */
const MAX_FAILURES = 60
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
  readonly #shared: SharedFailures | undefined

  /** `shared`: what other machines count. Undefined without others. */
  constructor(clock: Pick<Clock, 'monotonic'>, shared?: SharedFailures) {
    this.#clock = clock
    this.#shared = shared
  }

  /** Throws `tooManyFailures` if the address has no attempt left. */
  check(address: string): void {
    const now = this.#clock.monotonic()
    const network = networkOf(address)
    const window = this.#windows.get(network)
    const own = window && window.until > now ? window : undefined
    const others = this.#shared?.of(network)
    if ((own?.failures ?? 0) + (others?.failures ?? 0) < MAX_FAILURES) return
    const leftMs = Math.max((own?.until ?? now) - now, others?.forMs ?? 0)
    const seconds = Math.max(1, Math.ceil(leftMs / 1000))
    throw new ApiError('tooManyFailures', undefined, {
      message:
        `${network === address ? address : `the /64 network of ${address}`} is blocked for ${seconds} s after ${MAX_FAILURES} requests with ` +
        'wrong credentials within a minute; right credentials are refused from it too. If it is the address of your own ' +
        'proxy, add it to control.trusted_proxies',
      headers: { 'retry-after': String(seconds) },
    })
  }

  count(address: string): void {
    const now = this.#clock.monotonic()
    const network = networkOf(address)
    const known = this.#windows.get(network)
    if (known && known.until > now) known.failures += 1
    else this.#windows.set(network, { failures: 1, until: now + WINDOW_MS })
    this.#shared?.changed(() => this.#list())
  }

  *#list(): Generator<[network: string, failures: number, leftMs: number]> {
    const now = this.#clock.monotonic()
    for (const [network, { failures, until }] of this.#windows) yield [network, failures, until - now]
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
