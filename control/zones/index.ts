import { Type } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { configIndex } from '../http/auth/config-index.js'
import { mayUse } from '../http/auth/access.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import type { ControlDeps } from '../http/context.js'
import { zoneChanges } from './zone-changes.js'
import { zoneFacts, zoneResponse } from './zone-response.js'
import { ZoneFilters, ZoneResult } from './zone-schemas.js'

/** Zones of the configuration, and those created through the API. */
export const zones = (deps: ControlDeps): Endpoint[] => [listZones(deps), readZone(deps), ...zoneChanges(deps)]

function listZones(deps: ControlDeps): Endpoint {
  const shown = zoneResponse(deps)
  const { statusOf, typeOf, accountName } = zoneFacts(deps)
  const sortKeys: Readonly<Record<string, (zone: ZoneConfig) => string>> = {
    name: ({ name }) => name,
    status: statusOf,
    'account.id': ({ account }) => account,
    'account.name': accountName,
    'plan.id': ({ plan }) => plan,
  }
  return endpoint({
    method: 'get',
    path: '/zones',
    scopes: ['daemon'],
    permissions: [],
    summary: 'List the zones that the token sees',
    query: Type.Object({ ...paging(), ...ZoneFilters }),
    result: Type.Array(ZoneResult),
    handle({ caller, query }) {
      const { order, direction, match } = query
      const seen = deps.config().zones.filter((zone) => mayUse(caller, [], { account: zone.account, zone: zone.id }))
      const filters = [
        query.name !== undefined && textFilter('name', query.name, ({ name }) => name),
        query['account.id'] !== undefined && (({ account }: ZoneConfig) => account === query['account.id']),
        query['account.name'] !== undefined && textFilter('account.name', query['account.name'], accountName),
        query.status !== undefined && ((zone: ZoneConfig) => statusOf(zone) === query.status),
        query.type !== undefined && ((zone: ZoneConfig) => query.type?.includes(typeOf(zone))),
      ].filter((filter) => filter !== false)
      const found = seen.filter((zone) =>
        match === 'all' || filters.length === 0
          ? filters.every((filter) => filter(zone))
          : filters.some((filter) => filter(zone)),
      )
      const key = order && sortKeys[order]
      const sorted = key ? sortedBy(found, key) : found
      // A response has hundreds of permissions: only the zones of the page are converted.
      return page(direction === 'asc' ? sorted : sorted.toReversed(), query, (zone) => shown(zone, caller))
    },
  })
}

function readZone(deps: ControlDeps): Endpoint {
  const shown = zoneResponse(deps)
  return endpoint({
    method: 'get',
    path: '',
    scopes: ['zone'],
    permissions: [],
    summary: 'Read a zone',
    result: ZoneResult,
    handle({ scope, caller }) {
      const zone = configIndex(deps.config()).zones.get(scope.id)
      if (!zone) throw new ApiError('notVisible')
      return shown(zone, caller)
    },
  })
}

/** Returns the zones in the order of their keys. Each key is computed once: some are read from the store. */
function sortedBy(zones: readonly ZoneConfig[], key: (zone: ZoneConfig) => string): readonly ZoneConfig[] {
  const keyed = zones.map((zone) => ({ zone, key: key(zone) }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return keyed.map(({ zone }) => zone)
}

const CASE_SENSITIVE = '_case_sensitive'

const OPERATORS: Readonly<Record<string, (text: string, wanted: string) => boolean>> = {
  equal: (text, wanted) => text === wanted,
  not_equal: (text, wanted) => text !== wanted,
  contains: (text, wanted) => text.includes(wanted),
  starts_with: (text, wanted) => text.startsWith(wanted),
  ends_with: (text, wanted) => text.endsWith(wanted),
}

function textFilter(
  parameter: string,
  filter: string,
  of: (zone: ZoneConfig) => string,
): (zone: ZoneConfig) => boolean {
  const [, operator = 'equal', wanted = filter] = /^([a-z_]+):(.*)$/s.exec(filter) ?? []
  const exact = operator.endsWith(CASE_SENSITIVE)
  const test = OPERATORS[exact ? operator.slice(0, -CASE_SENSITIVE.length) : operator]
  if (!test) throw new ApiError('badQuery', `/${parameter}`, `has an unknown operator: ${operator}`)
  const folded = (text: string) => (exact ? text : text.toLowerCase())
  return (zone) => test(folded(of(zone)), folded(wanted))
}
