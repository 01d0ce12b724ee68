import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import { newId } from '../../core/ids.js'
import type { Log } from '../../core/log.js'
import { CACHE_INVALIDATION, PURGE, type StoredInvalidation, type StoredPurge } from '../../core/model/purge.js'
import { DAEMON, zone as zoneScope } from '../../core/scope.js'
import { changesOf, type Store, type Write } from '../../core/store.js'
import type { Invalidated } from '../../edge/cache/invalidation.js'

/** Invalidations are collected for this long, so that many requests cost one write. */
const COLLECT_MS = 20
/** Time before another attempt if the store accepts no writes. */
const RETRY_MS = 1000
/** Maximum URLs and groups of a zone that wait for the store. With more, everything of the zone is purged. */
const MAX_NAMES = 2000
/** Records of one machine. A later one replaces the oldest. */
const RECORDS = 16

/** URLs and groups of a zone that are not valid any more. */
interface Names {
  readonly urls: Iterable<string>
  readonly groups: Iterable<string>
}

/** Names that wait for the store. */
interface Waiting extends Names {
  readonly urls: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
}

/**
 * Invalidations by unsafe requests, for the other machines with the same store. A record of the store makes each
 * machine remove the stored responses for these URLs. A client does not wait for that.
 */
export class MachineInvalidations {
  readonly #store: Pick<Store, 'batch' | 'watch'>
  readonly #machine: string
  readonly #clock: Clock
  readonly #log: Log
  /** URLs and groups by zone; undefined: everything. */
  #waiting = new Map<string, Waiting | undefined>()
  #number = 0
  #sending: Promise<void> | undefined
  readonly #unwatch: () => void
  readonly #closing = new AbortController()

  /** `apply` is called with the invalidations of other machines. */
  constructor(
    machine: string,
    {
      store,
      clock,
      log,
      apply,
    }: {
      store: Pick<Store, 'batch' | 'watch'>
      clock: Clock
      log: Log
      apply: (invalidated: StoredInvalidation['zones']) => void
    },
  ) {
    this.#machine = machine
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#unwatch = store.watch((changes) => {
      for (const { value } of changesOf(CACHE_INVALIDATION, changes))
        if (value !== undefined && value.machine !== machine) apply(value.zones)
    })
  }

  /** Sends an invalidation of this machine to the others. */
  add({ zone, urls, groups = [] }: Invalidated): void {
    this.#wait(zone, { urls, groups })
    this.#sending ??= this.#send()
  }

  async close(): Promise<void> {
    this.#unwatch()
    this.#closing.abort()
    await this.#sending
  }

  async #send(): Promise<void> {
    const { signal } = this.#closing
    while (this.#waiting.size > 0) {
      await this.#clock.sleep(COLLECT_MS, signal).catch(() => undefined)
      const waiting = this.#waiting
      this.#waiting = new Map()
      try {
        await this.#store.batch(this.#writes(waiting))
      } catch (error) {
        this.#log.warn(
          { event: 'cache_invalidation_failed', error: messageOf(error) },
          'other machines were not notified of changed resources; trying again',
        )
        if (signal.aborted) break
        for (const [zone, names] of waiting) this.#wait(zone, names)
        await this.#clock.sleep(RETRY_MS, signal).catch(() => undefined)
      }
    }
    this.#sending = undefined
  }

  #wait(zone: string, names: Names | undefined): void {
    const present = this.#waiting.get(zone)
    if (names === undefined || (present === undefined && this.#waiting.has(zone))) {
      this.#waiting.set(zone, undefined)
      return
    }
    const urls = new Set([...(present?.urls ?? []), ...names.urls])
    const groups = new Set([...(present?.groups ?? []), ...names.groups])
    this.#waiting.set(zone, urls.size + groups.size > MAX_NAMES ? undefined : { urls, groups })
  }

  #writes(waiting: ReadonlyMap<string, Waiting | undefined>): Write[] {
    const at = this.#clock.now()
    const zones = [...waiting].flatMap(([zone, names]) =>
      names ? [{ zone, urls: [...names.urls], ...(names.groups.size > 0 && { groups: [...names.groups] }) }] : [],
    )
    const id = `${this.#machine}-${this.#number++ % RECORDS}`
    const value: StoredInvalidation = { machine: this.#machine, zones, at }
    const purge: StoredPurge = { kind: 'everything', values: [], at }
    const purges = [...waiting].flatMap(([zone, names]) => (names ? [] : [zone]))
    return [
      { kind: CACHE_INVALIDATION, scope: DAEMON, id, value },
      ...purges.map((zone) => ({ kind: PURGE, scope: zoneScope(zone), id: newId(), value: purge })),
    ]
  }
}
