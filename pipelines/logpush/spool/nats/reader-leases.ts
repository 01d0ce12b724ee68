import { setMaxListeners } from 'node:events'
import type { Clock } from '../../../../src/core/clock.js'
import { messageOf } from '../../../../src/core/errors.js'
import { Leases } from '../../../../src/core/leases.js'
import type { Log } from '../../../../src/core/log.js'
import { LOGPUSH_LEASES, LOGPUSH_MACHINES } from '../../../../src/core/model/logpush-job.js'
import { DAEMON, type Scope } from '../../../../src/core/scope.js'
import type { Store } from '../../../../src/core/store.js'

const RENEW_MS = 2500
/** Time without renewal after which the cursors of a machine are free. */
const EXPIRY_MS = 10_000

interface Waiting {
  readonly scope: Scope
  readonly id: string
  readonly wake: () => void
}

/** Decides which machine reads for a cursor. Only one machine reads at a time. Another takes over after it is gone. */
export class ReaderLeases {
  readonly #leases: Leases
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: Log
  readonly #self: string
  /** Called when a lease of this machine is lost. */
  readonly #held = new Map<string, () => void>()
  readonly #waiting = new Set<Waiting>()
  readonly #closing = new AbortController()
  #renewedAt = -Infinity
  #running: Promise<void> | undefined
  #unwatch = () => {}

  /**
   * `self` is the name of this machine. It is the same after a restart, so the machine continues with its cursors
   * immediately.
   */
  constructor(store: Store, clock: Clock, log: Log, self: string) {
    this.#leases = new Leases(store, clock, {
      leases: LOGPUSH_LEASES,
      presence: LOGPUSH_MACHINES,
      expiryMs: EXPIRY_MS,
      self,
    })
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#self = self
    setMaxListeners(0, this.#closing.signal)
  }

  start(): void {
    this.#unwatch = this.#store.watch((changes) => {
      for (const change of changes) {
        if (change.kind === LOGPUSH_LEASES.name) this.#changed(change.scope, change.id)
        else if (change.kind === LOGPUSH_MACHINES.name && change.value === undefined) this.#wakeAll()
      }
    })
    this.#running = this.#renewing()
  }

  /** Resolves when this machine has the lease. `lost` is called when that ends. Rejects with the signal's reason. */
  async hold(scope: Scope, id: string, lost: () => void, signal: AbortSignal): Promise<void> {
    const key = keyOf(scope, id)
    // Free leases go first to the machine that ranks highest for them.
    for (let isFirst = this.#leases.isFirst(id); !isFirst || !(await this.#take(scope, id)); isFirst = true)
      await this.#turn(scope, id, signal)
    signal.throwIfAborted()
    this.#held.set(key, lost)
  }

  /** Acquires a lease if it is free now. */
  async tryHold(scope: Scope, id: string): Promise<boolean> {
    return await this.#take(scope, id)
  }

  /** Whether a machine that is there, and not this one, has the lease. */
  isElsewhere(scope: Scope, id: string): boolean {
    const owner = this.#store.get(LOGPUSH_LEASES, scope, id)?.value.owner
    if (owner === undefined || owner === this.#self) return false
    return this.#store.get(LOGPUSH_MACHINES, DAEMON, owner) !== undefined
  }

  /** Whether this machine has the lease, and others know that it is there. */
  isHeld(scope: Scope, id: string): boolean {
    return this.#isPresent && this.#held.has(keyOf(scope, id))
  }

  /** Frees all leases. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#unwatch()
    await this.#running
    await this.#leases.release().catch(() => {})
  }

  get #isPresent(): boolean {
    return this.#clock.monotonic() - this.#renewedAt < EXPIRY_MS
  }

  async #take(scope: Scope, id: string): Promise<boolean> {
    if (!this.#isPresent) return false
    try {
      return await this.#leases.hold(scope, id)
    } catch (error) {
      this.#log.debug({ event: 'logpush_lease_failed', error: messageOf(error) })
      return false
    }
  }

  /** Waits until the lease may be free. */
  async #turn(scope: Scope, id: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        this.#waiting.delete(waiting)
        reject(signal.reason as Error)
      }
      const wake = () => {
        this.#waiting.delete(waiting)
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const waiting = { scope, id, wake }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', stop, { once: true })
    })
  }

  async #renewing(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const began = this.#clock.monotonic()
      try {
        await this.#leases.renew()
        this.#renewedAt = began
        // In the order of their rank, so that each machine gets its share of leases that are free.
        this.#wakeAll()
      } catch (error) {
        this.#log.debug({ event: 'logpush_presence_failed', error: messageOf(error) })
        if (!this.#isPresent) this.#loseAll()
      }
      await this.#clock.sleep(RENEW_MS, signal).catch(() => {})
    }
  }

  #changed(scope: Scope, id: string): void {
    const key = keyOf(scope, id)
    const owner = this.#store.get(LOGPUSH_LEASES, scope, id)?.value.owner
    if (owner === this.#self) return
    this.#held.get(key)?.()
    this.#held.delete(key)
    if (owner !== undefined) return
    for (const waiting of this.#waiting) if (keyOf(waiting.scope, waiting.id) === key) waiting.wake()
  }

  #wakeAll(): void {
    for (const { wake } of this.#waiting) wake()
  }

  #loseAll(): void {
    for (const lost of this.#held.values()) lost()
    this.#held.clear()
  }
}

const keyOf = ({ type, id }: Scope, lease: string): string => `${type} ${id} ${lease}`
