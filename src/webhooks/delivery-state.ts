import { acceptedState, DELIVERIES, DELIVERY_STATES, type DeliveryState } from '../core/model/delivery.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'

/** Returns the state of a delivery, whether it is stored or not. Undefined if the delivery does not exist. */
export function stateOf(store: Pick<Store, 'get'>, scope: Scope, id: string): DeliveryState | undefined {
  const stored = store.get(DELIVERY_STATES, scope, id)
  if (stored !== undefined) return stored.value
  const delivery = store.get(DELIVERIES, scope, id)?.value
  return delivery && acceptedState(delivery)
}
