import type { ZoneConfig } from '../../src/config/schema.js'
import { HOSTNAME, HOSTNAME_OWNER } from '../../src/core/model/hostname.js'
import { DAEMON, zone as zoneScope } from '../../src/core/scope.js'
import { ApiError } from '../http/errors.js'
import type { ControlDeps } from '../http/context.js'
import { covers } from './hostname-match.js'

/**
 * Throws if another zone or custom hostname has the name of a new zone, or if the new zone would take requests from
 * another account.
 */
export function assertNameFree(
  { config, store }: Pick<ControlDeps, 'config' | 'store'>,
  name: string,
  account: string,
) {
  const { zones } = config()
  for (const zone of zones)
    for (const pattern of zone.hostnames ?? [zone.name, `*.${zone.name}`]) {
      const isSame = pattern.toLowerCase() === name || zone.name.toLowerCase() === name
      if (isSame || (zone.account !== account && covers(pattern, name)))
        throw new ApiError(
          'zoneExists',
          '/name',
          isSame ? `${name} already exists` : `${name} is served by another zone`,
        )
    }
  const accountOf = (zoneId: string): string | undefined => zones.find(({ id }: ZoneConfig) => id === zoneId)?.account
  for (const [index, parent] of parents(name).entries()) {
    const owner = store.get(HOSTNAME_OWNER, DAEMON, parent)?.value
    if (!owner) continue
    if (index > 0) {
      const custom = store.get(HOSTNAME, zoneScope(owner.zone_id), owner.id)?.value
      if (custom?.ssl?.wildcard !== true || accountOf(owner.zone_id) === account) continue
    }
    throw new ApiError('zoneExists', '/name', `${name} is a custom hostname of another zone`)
  }
}

/** Returns the name, and the names above it. */
function parents(name: string): string[] {
  const labels = name.split('.')
  return labels.map((_, index) => labels.slice(index).join('.'))
}
