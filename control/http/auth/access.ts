import { ApiError } from '../errors.js'
import type { Permission } from '../permissions.js'
import type { Caller, Grant } from '../context.js'

/** The scope of an operation: an account, a zone of an account, or above all accounts. */
export type GrantTarget = { readonly account: string; readonly zone?: string } | 'daemon'

/** Returns the grant for flat lists: `zones: ['*']` is all zones of the accounts, a zone id only that zone. */
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

/** Returns whether the caller has one of the permissions there. No permissions: whether it can see the scope. */
export function mayUse(caller: Caller, permissions: readonly Permission[], place: GrantTarget): boolean {
  if (permissions.length === 0) {
    return place === 'daemon' || caller.grants.some((grant) => grant.effect === 'allow' && covers(grant, place))
  }
  return permissions.some((permission) => holds(caller.grants, permission, place))
}

/**
 * Creates the error for a caller that {@link mayUse} does not let through. The message names the permissions. One
 * permission is enough.
 */
export function notAllowed(permissions: readonly Permission[]): ApiError {
  const names = permissions.map((name) => `"${name}"`).join(' or ')
  const needed =
    names === '' ? 'the credentials do not cover this account' : `the credentials need the permission ${names} here`
  return new ApiError('notAllowed', undefined, `Authentication error: ${needed}`)
}

/** Returns whether the grants together allow one permission (`*`: every one) in a scope. */
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
