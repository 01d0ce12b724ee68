import type { Permission } from './permissions.js'
import type { Caller, Grant } from '../context.js'

/** Where something is to be done: in an account, in a zone of an account, or above all accounts. */
export type GrantTarget = { readonly account: string; readonly zone?: string } | 'daemon'

/** The grant that flat lists stand for: `zones: ['*']` are all zones of the accounts, a zone id is that zone alone. */
export function flatGrant(access: {
  readonly permissions: readonly string[]
  readonly accounts: readonly string[]
  readonly zones: readonly string[]
}): Grant {
  const { permissions, accounts, zones } = access
  return {
    effect: 'allow',
    permissions,
    accounts,
    zones: zones.filter((zone) => zone !== '*'),
    zonesOf: zones.includes('*') ? accounts : [],
  }
}

/** Whether the caller may use at least one of the permissions there. No permissions: whether it may see the place at all. */
export function mayUse(caller: Caller, permissions: readonly Permission[], place: GrantTarget): boolean {
  if (permissions.length === 0) {
    return place === 'daemon' || caller.grants.some((grant) => grant.effect === 'allow' && covers(grant, place))
  }
  return permissions.some((permission) => holds(caller.grants, permission, place))
}

/** Whether the grants together allow one permission (`*`: every one) at a place. */
export function holds(grants: readonly Grant[], permission: string, place: GrantTarget): boolean {
  const touching = grants.filter((grant) => listed(grant.permissions, permission) && covers(grant, place))
  return touching.length > 0 && touching.every(({ effect }) => effect === 'allow')
}

function covers(grant: Grant, place: GrantTarget): boolean {
  if (place === 'daemon') return grant.accounts.includes('*')
  if (place.zone === undefined) return listed(grant.accounts, place.account)
  return grant.zones.includes(place.zone) || listed(grant.zonesOf, place.account)
}

const listed = (names: readonly string[], name: string): boolean => names.includes('*') || names.includes(name)
