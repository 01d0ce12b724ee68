import type { Clock } from '../../src/core/clock.js'
import { messageOf } from '../../src/core/errors.js'
import { KeyedMutex } from '../../src/core/keyed-mutex.js'
import type { Log } from '../../src/core/log.js'
import { LOG_RETENTION } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { positionAt } from './history.js'
import type { JobTarget } from './job-manager.js'
import type { Cursor, Spools } from './spool/types.js'

/** The dataset that zones can read back. */
export const PULLED = 'http_requests'
export const PULL_AGE_MS = 7 * 86_400_000
const CURSOR = 'pull'
/** Interval in which cursors move on. They retain records slightly longer than necessary. */
const MOVE_MS = 5 * 60_000

interface RetainedDeps {
  readonly store: Store
  readonly spools: Spools
  /** Called when the zones change, after their records are retained. */
  readonly changed: () => Promise<void>
  readonly clock: Clock
  readonly log: Log
}

/** Retains the records of zones whose retention flag is set, so that the API can return them for seven days. */
export class RetainedRecords {
  readonly #deps: RetainedDeps
  readonly #cursors = new Map<string, { readonly scope: Scope; readonly cursor: Cursor }>()
  readonly #turns = new KeyedMutex()
  #timer: NodeJS.Timeout | undefined
  #unwatch = () => {}

  constructor(deps: RetainedDeps) {
    this.#deps = deps
  }

  /** Retained targets. */
  get targets(): JobTarget[] {
    return [...this.#cursors.values()].map(({ scope }) => ({ dataset: PULLED, scope }))
  }

  async start(): Promise<void> {
    const { store } = this.#deps
    this.#unwatch = store.watch((changes) => {
      for (const { kind, scope } of changes) if (kind === LOG_RETENTION.name) void this.settled(scope)
    })
    for (const { scope } of store.list(LOG_RETENTION)) await this.settled(scope)
    this.#timer = setInterval(() => void this.#move(), MOVE_MS).unref()
  }

  /** Resolves when the flag of a zone is in force. */
  async settled(scope: Scope): Promise<void> {
    await this.#turns.run(scope.id, async () => {
      try {
        await this.#apply(scope)
      } catch (error) {
        this.#deps.log.error({ event: 'log_retention_failed', zone: scope.id, error: messageOf(error) })
      }
    })
  }

  async close(): Promise<void> {
    this.#unwatch()
    clearInterval(this.#timer)
    await Promise.all([...this.#cursors.keys()].map(async (id) => await this.#turns.run(id, async () => {})))
  }

  async #apply(scope: Scope): Promise<void> {
    const { store, spools, changed } = this.#deps
    const isOn = store.get(LOG_RETENTION, scope, scope.id)?.value.flag === true
    const known = this.#cursors.get(scope.id)
    if (isOn === (known !== undefined)) return
    if (known === undefined) {
      const spool = await spools.open(PULLED, scope)
      this.#cursors.set(scope.id, { scope, cursor: await spool.cursor(CURSOR) })
    } else {
      this.#cursors.delete(scope.id)
      await known.cursor.remove()
    }
    await changed()
  }

  async #move(): Promise<void> {
    const { spools, clock, log } = this.#deps
    for (const { scope, cursor } of this.#cursors.values()) {
      try {
        const next = await positionAt(await spools.open(PULLED, scope), clock.now() - PULL_AGE_MS)
        if (next > cursor.state.next) await cursor.save({ next })
      } catch (error) {
        log.error({ event: 'log_retention_failed', zone: scope.id, error: messageOf(error) })
      }
    }
  }
}
