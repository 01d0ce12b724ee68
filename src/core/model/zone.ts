import { kind, type NameOwner } from '../store.js'

/** A zone created through the API. Scope: the account; id: the zone's. */
export interface StoredZone {
  readonly id: string
  readonly account: string
  /** Host name in lower case, in ASCII. It and all names below it are served. */
  readonly name: string
  /** http or https URL without a path; undefined: requests need an origin rule or a Worker. */
  readonly origin?: string
  readonly plan: ZonePlan
  readonly created_on: string
  readonly modified_on: string
}
export const ZONES = kind<StoredZone>('zone')

export const ZONE_PLANS = ['free', 'pro', 'business', 'enterprise'] as const
export type ZonePlan = (typeof ZONE_PLANS)[number]

/** The zone that owns a name: no two zones have the same. Scope: the daemon; id: the name. */
export const ZONE_NAMES = kind<NameOwner>('zone_name')

export const ZONE_TYPES = ['full', 'partial', 'secondary', 'internal'] as const
export type ZoneType = (typeof ZONE_TYPES)[number]

/** What the API changed about a zone, also one of the configuration. Scope: the zone; id: {@link ZONE_STATE_ID}. */
export interface ZoneState {
  /** Requests pass to the origin, and nothing else happens. */
  readonly paused?: boolean
  readonly type?: ZoneType
  readonly vanity_name_servers?: readonly string[]
  readonly modified_on: string
}
export const ZONE_STATES = kind<ZoneState>('zone_state')
export const ZONE_STATE_ID = 'only'
