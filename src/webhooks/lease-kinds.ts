import type { Lease, Presence } from '../core/leases.js'
import { kind } from '../core/store.js'

/** Lease of the deliveries of a webhook. The scope is the account. The id is the webhook's. */
export const WEBHOOK_LEASES = kind<Lease>('webhook_lease')
/** Presence of a sending daemon. */
export const WEBHOOK_SENDERS = kind<Presence>('webhook_sender')

export const RENEW_MS = 2500
/** Time without renewal after which the leases of a daemon are free. */
export const LEASE_MS = 10_000
