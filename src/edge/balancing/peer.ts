/** Failures in a row after which an origin gets no more requests. */
const MAX_FAILURES = 3
/** Time without requests after that; doubles with each further failure. */
const MIN_DOWN_MS = 10_000
const MAX_DOWN_MS = 60_000
/** An origin that comes back gets its full share of requests after this time. */
const SLOW_START_MS = 10_000
/** Its share at the beginning of that time. */
const MIN_SHARE = 0.05

/** Options of one origin of a zone. */
export interface PeerOptions {
  readonly url: string
  readonly weight: number
  /** Used only if no other origin is up. */
  readonly backup: boolean
  /** Maximum connections. Undefined if `proxy.origin.connections` applies. */
  readonly connections: number | undefined
}

/** Characters of an error that are kept. */
const MAX_ERROR = 200

/**
 * State by the last results. `unknown`: no request and no health check has had a result. An origin that has never responded is
 * `down` after its first failure, one that was up after several in a row.
 */
export interface PeerReport {
  readonly state: 'up' | 'down' | 'unknown'
  /** When it got that state. Undefined while it is unknown. */
  readonly since: number | undefined
  /** Time of the last result. */
  readonly checkedAt: number | undefined
  /** The failure of the last result. Undefined if it was none. */
  readonly lastError: string | undefined
}

/** Change of an origin's state, for the log. */
export type PeerChange = 'down' | 'up' | undefined

/**
 * One origin of a zone, with its state and counts. It lives as long as the zone has an origin with this URL, through
 * changes of its options. Times are on the clock's `monotonic` scale.
 */
export class Peer {
  options: PeerOptions
  /** Requests that were sent and have no complete response. */
  active = 0
  /** State of smooth weighted round robin. */
  current = 0
  /** Responses by class of status, and requests without a response. */
  readonly responses = new Map<string, number>()
  /** Requests that were sent to another origin after they failed here. */
  retried = 0
  /** State by the last results, in contrast to {@link isUp}, which is about further requests. */
  report: PeerReport = { state: 'unknown', since: undefined, checkedAt: undefined, lastError: undefined }
  #failures = 0
  #downMs = 0
  /** Until then it gets no request. Undefined while it is up. After that time one request tests it. */
  #downUntil: number | undefined
  #testing = false
  #recoveredAt = -Infinity
  /** Results of active checks in a row that differ from the current state. */
  #differing = 0
  #checkedDown = false

  constructor(options: PeerOptions) {
    this.options = options
  }

  get url(): string {
    return this.options.url
  }

  /** Whether it may get requests. */
  isUp(now: number): boolean {
    if (this.#checkedDown) return false
    return this.#downUntil === undefined || (now >= this.#downUntil && !this.#testing)
  }

  /** Whether it has as many requests as connections are allowed. */
  get isFull(): boolean {
    return this.options.connections !== undefined && this.active >= this.options.connections
  }

  /** Returns its weight, which is lower for a while after it came back. */
  weight(now: number): number {
    const share = (now - this.#recoveredAt) / SLOW_START_MS
    return share >= 1 ? this.options.weight : this.options.weight * Math.max(share, MIN_SHARE)
  }

  /** Must be called when a request is assigned to it, and {@link ended} when that request is over. */
  started(): void {
    this.active++
    if (this.#downUntil !== undefined) this.#testing = true
  }

  ended(): void {
    this.active--
    this.#testing = false
  }

  /** Records the head of a response. */
  responded(status: number, now: number): PeerChange {
    this.#count(`${Math.floor(status / 100)}xx`)
    this.#failures = 0
    if (!this.#checkedDown) this.#seen('up', now)
    if (this.#downUntil === undefined) return undefined
    this.#downUntil = undefined
    this.#downMs = 0
    this.#recoveredAt = now
    return 'up'
  }

  /** Records a request without a response. `blames` is true if the origin caused the failure, `error` says which one. */
  failed(now: number, blames: boolean, error = ''): PeerChange {
    this.#count('error')
    if (!blames) return undefined
    this.#failures++
    const wasDown = this.#downUntil !== undefined
    const isLikely = !wasDown && this.#failures < MAX_FAILURES
    this.#seen(isLikely && this.report.state === 'up' ? 'up' : 'down', now, error)
    if (isLikely) return undefined
    this.#downMs = Math.min(Math.max(this.#downMs * 2, MIN_DOWN_MS), MAX_DOWN_MS)
    this.#downUntil = now + this.#downMs
    return wasDown ? undefined : 'down'
  }

  /**
   * Records the result of an active check, which is undefined or the problem. The state changes after a number of equal results in
   * a row.
   */
  checked(problem: string | undefined, now: number, after: { healthy: number; unhealthy: number }): PeerChange {
    const change = this.#change(problem === undefined, now, after)
    const isDown =
      this.#checkedDown || this.#downUntil !== undefined || (problem !== undefined && this.report.state !== 'up')
    this.#seen(isDown ? 'down' : 'up', now, problem ?? (isDown ? this.report.lastError : undefined))
    return change
  }

  #change(healthy: boolean, now: number, after: { healthy: number; unhealthy: number }): PeerChange {
    if (healthy !== this.#checkedDown) {
      this.#differing = 0
      return undefined
    }
    this.#differing++
    if (this.#differing < (healthy ? after.healthy : after.unhealthy)) return undefined
    this.#differing = 0
    this.#checkedDown = !healthy
    if (!healthy) return 'down'
    this.#recoveredAt = now
    this.#downUntil = undefined
    this.#failures = 0
    return 'up'
  }

  /** Forgets results of active checks, for a zone without them. */
  uncheck(): void {
    this.#checkedDown = false
    this.#differing = 0
  }

  #seen(state: 'up' | 'down', now: number, error?: string): void {
    const { report } = this
    this.report = {
      state,
      since: report.state === state ? report.since : now,
      checkedAt: now,
      lastError: error === undefined || error.length <= MAX_ERROR ? error : `${error.slice(0, MAX_ERROR)}…`,
    }
  }

  #count(outcome: string): void {
    this.responses.set(outcome, (this.responses.get(outcome) ?? 0) + 1)
  }
}
