import type { Clock } from '../../../src/core/clock.js'
import { DELIVERIES, DELIVERY_STATES, type DeliveryState } from '../../../src/core/model/delivery.js'
import type { Store, Write } from '../../../src/core/store.js'
import type { Poster } from '../../../src/webhooks/http-post.js'
import { WEBHOOK_SENDERS } from '../../../src/webhooks/lease-kinds.js'
import { FLAWED as FLAWED_STORES, methodsOf } from '../stores/flawed.js'

/** A clock that stands still in pauses shows at most this time between two looks. */
const MAX_SHOWN_MS = 3000

/** What makes the ports of webhooks worse than they are, to prove that a run notices. */
export interface WebhookFlaws {
  readonly store?: (store: Store) => Store
  readonly clock?: (clock: Clock) => Clock
  readonly post?: (post: Poster) => Poster
}

/** Changes the writes of a batch. */
const written =
  (change: (write: Write) => readonly Write[]) =>
  (store: Store): Store => ({
    ...methodsOf(store),
    batch: async (writes, audit) => await store.batch(writes.flatMap(change), audit),
  })

/** Changes the stored states of deliveries. */
const stated = (change: (state: DeliveryState) => DeliveryState | undefined) =>
  written((write) => {
    if (write.kind.name !== DELIVERY_STATES.name || write.value === undefined) return [write]
    const value = change(write.value as DeliveryState)
    return value === undefined ? [] : [{ ...write, value }]
  })

/** Ways in which the ports of webhooks can break their promises. */
export const FLAWED = {
  /** Compares no versions. */
  unversioned: { store: FLAWED_STORES.unversioned },
  /** Tells watchers of most batches. */
  deaf: { store: FLAWED_STORES.deaf },
  /** Shows no machine as present, so that each lease seems to be free. */
  absent: {
    store: (store: Store): Store => ({
      ...methodsOf(store),
      get: (kind, scope, id) => (kind.name === WEBHOOK_SENDERS.name ? undefined : store.get(kind, scope, id)),
    }),
  },
  /** A machine does not see that it has paused. */
  frozen: {
    clock: (clock: Clock): Clock => {
      let [seen, shown] = [clock.monotonic(), clock.monotonic()]
      return {
        ...clock,
        monotonic: () => {
          const now = clock.monotonic()
          shown += Math.min(MAX_SHOWN_MS, now - seen)
          seen = now
          return shown
        },
      }
    },
  },
  /** Confirms deliveries that are not stored. */
  lossy: {
    store: (store: Store): Store => {
      let count = 0
      return written((write) => (write.kind.name === DELIVERIES.name && ++count % 5 === 0 ? [] : [write]))(store)
    },
  },
  /** Does not store attempts that failed. */
  forgetful: { store: stated((state) => (state.status === 'pending' ? undefined : state)) },
  /** Gives a delivery up after an attempt that failed. */
  impatient: { store: stated((state) => (state.status === 'pending' ? { ...state, status: 'failed' } : state)) },
  /** Takes each response for a success. */
  lenient: {
    post:
      (post: Poster): Poster =>
      async (request) => ({ ...(await post(request)), status: 200 }),
  },
} satisfies Record<string, WebhookFlaws>
