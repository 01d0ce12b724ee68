import type { Issue } from '../../../src/core/errors.js'
import { newId } from '../../../src/core/ids.js'
import type { TokenPolicy, TokenResources } from '../../../src/core/model/token.js'
import type { FlatAccess } from '../../../src/core/permissions.js'
import { pointerToken } from '../../../src/core/schema.js'
import { holds } from './access.js'
import type { ConfigIndex } from './config-index.js'
import type { Grant } from '../context.js'
import type { Scope } from '../../../src/core/scope.js'

const ZONE = /^com\.cloudflare\.api\.account\.zone\.([0-9a-f]{32}|\*)$/
const ACCOUNT = /^com\.cloudflare\.api\.account\.([0-9a-f]{32}|\*)$/
const ACCOUNT_NAME = 'com.cloudflare.api.account.'
const ZONE_NAME = 'com.cloudflare.api.account.zone.'

const prepared = new WeakMap<readonly TokenPolicy[], readonly Grant[]>()

/**
 * Returns the grants of a token's policies, computed once per list. `scope` owns the token; in a token of an account `*`
 * is that account, and all of its zones.
 */
export function grantsIn(scope: Scope, policies: readonly TokenPolicy[]): readonly Grant[] {
  const ready = prepared.get(policies) ?? policies.map((policy) => limited(scope, grantOf(policy)))
  prepared.set(policies, ready)
  return ready
}

function limited({ type, id }: Scope, grant: Grant): Grant {
  if (type !== 'account') return grant
  const own = (ids: readonly string[]) => (ids.some((one) => one === '*' || one === id) ? [id] : [])
  return { ...grant, accounts: own(grant.accounts), zonesOf: own(grant.zonesOf) }
}

/** Returns the names in `resources` of other accounts, and of zones of other accounts. */
export function foreignResources(
  resources: TokenResources,
  accountId: string,
  accountOf: (zone: string) => string | undefined,
): string[] {
  const isForeignZone = (name: string) => {
    const zone = ZONE.exec(name)?.[1]
    return zone !== undefined && zone !== '*' && accountOf(zone) !== accountId
  }
  return Object.entries(resources).flatMap(([name, below]) => {
    const account = ACCOUNT.exec(name)?.[1]
    const isForeign = account === undefined ? isForeignZone(name) : account !== '*' && account !== accountId
    return isForeign || (below !== '*' && Object.keys(below).some(isForeignZone)) ? [name] : []
  })
}

function grantOf({ effect, permissions, resources }: TokenPolicy): Grant {
  const accounts: string[] = []
  const zones: string[] = []
  const zonesOf: string[] = []
  const takeZone = (name: string, account: string) => {
    const zone = ZONE.exec(name)?.[1]
    if (zone === '*') zonesOf.push(account)
    else if (zone !== undefined) zones.push(zone)
  }
  for (const [name, below] of Object.entries(resources)) {
    const account = ACCOUNT.exec(name)?.[1]
    if (account === undefined) takeZone(name, '*')
    else if (below === '*') accounts.push(account)
    else for (const inner of Object.keys(below)) takeZone(inner, account)
  }
  return { effect, permissions, accounts, zones, zonesOf }
}

/** Returns issues for names in `resources` that the API does not know. `at` is the pointer to `resources`. */
export function resourceIssues(resources: TokenResources, at: string): Issue[] {
  const message =
    'is not a resource; com.cloudflare.api.account.ID and com.cloudflare.api.account.zone.ID are, * for all'
  return Object.entries(resources).flatMap(([name, below]) => {
    const here = `${at}/${pointerToken(name)}`
    if (ZONE.test(name))
      return below === '*' ? [] : [{ pointer: here, message: 'has nothing below it: the value is *' }]
    if (!ACCOUNT.test(name)) return [{ pointer: here, message }]
    if (below === '*') return []
    return Object.keys(below)
      .filter((inner) => !ZONE.test(inner))
      .map((inner) => ({ pointer: `${here}/${pointerToken(inner)}`, message }))
  })
}

/** Returns the policies equivalent to flat lists. */
export function flatPolicies({ permissions, accounts, zones }: FlatAccess): TokenPolicy[] {
  const all = zones.includes('*')
  const direct: TokenResources = {
    ...Object.fromEntries(accounts.map((id) => [ACCOUNT_NAME + id, '*' as const])),
    ...Object.fromEntries(zones.filter((id) => id !== '*').map((id) => [ZONE_NAME + id, '*' as const])),
    ...(all && accounts.includes('*') && { [`${ZONE_NAME}*`]: '*' as const }),
  }
  const below: TokenResources = Object.fromEntries(
    accounts.filter((id) => all && id !== '*').map((id) => [ACCOUNT_NAME + id, { [`${ZONE_NAME}*`]: '*' as const }]),
  )
  return [direct, below]
    .filter((resources) => Object.keys(resources).length > 0)
    .map((resources) => ({ id: newId(), effect: 'allow', permissions: [...permissions], resources }))
}

/**
 * Returns whether `giver` has all that `wanted` allows: a caller cannot grant more than it has. A caller with a `deny`
 * grants nothing, because the new token would not have that restriction.
 */
export function within(giver: readonly Grant[], wanted: readonly Grant[], { zones }: ConfigIndex): boolean {
  const mayGive = (permission: string, { accounts, zones: single, zonesOf }: Grant): boolean =>
    accounts.every((id) => holds(giver, permission, id === '*' ? 'daemon' : { account: id })) &&
    single.every((id) => holds(giver, permission, { account: zones.get(id)?.account ?? '', zone: id })) &&
    zonesOf.every((id) => giver.some((grant) => givesZones(grant, permission, id)))
  if (giver.some(({ effect }) => effect === 'deny')) return false
  return wanted
    .filter(({ effect }) => effect === 'allow')
    .every((grant) => grant.permissions.every((permission) => mayGive(permission, grant)))
}

const givesZones = ({ effect, permissions, zonesOf }: Grant, permission: string, account: string): boolean =>
  effect === 'allow' &&
  (permissions.includes('*') || permissions.includes(permission)) &&
  (zonesOf.includes('*') || zonesOf.includes(account))
