import { kind, type NameOwner } from '../store.js'

/** A zone created through the API. The scope is the account. The id is the zone's. */
export interface StoredZone {
  readonly id: string
  readonly account: string
  /** Host name in lower case, in ASCII. It and all names below it are served. */
  readonly name: string
  /** http or https URL without a path. If undefined, requests need an origin rule or a Worker. */
  readonly origin?: string
  readonly plan: ZonePlan
  readonly created_on: string
  readonly modified_on: string
}
export const ZONES = kind<StoredZone>('zone')

export const ZONE_PLANS = ['free', 'pro', 'business', 'enterprise'] as const
export type ZonePlan = (typeof ZONE_PLANS)[number]

/** The zone that owns a name. A name belongs to at most one zone. The scope is the daemon. The id is the name. */
export const ZONE_NAMES = kind<NameOwner>('zone_name')

export const ZONE_TYPES = ['full', 'partial', 'secondary', 'internal'] as const
export type ZoneType = (typeof ZONE_TYPES)[number]

/**
 * Changes by the API to a zone, including zones of the configuration. The scope is the zone. The id is
 * {@link ZONE_STATE_ID}.
 */
export interface ZoneState {
  /** Requests pass to the origin, and nothing else happens. */
  readonly paused?: boolean
  readonly type?: ZoneType
  readonly vanity_name_servers?: readonly string[]
  readonly modified_on: string
}
export const ZONE_STATES = kind<ZoneState>('zone_state')
export const ZONE_STATE_ID = 'only'
