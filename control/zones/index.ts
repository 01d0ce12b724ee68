import { Type } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { orNull } from '../../src/core/schema.js'
import { mayUse } from '../http/auth/access.js'
import { configIndex } from '../http/auth/config-index.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { PERMISSIONS } from '../http/auth/permissions.js'
import { type Caller, UNKNOWN_TIME, type ControlDeps } from '../http/context.js'

const named = Type.Object({ id: Type.String(), name: Type.String() })

const Zone = Type.Object({
  id: Type.String(),
  name: Type.String(),
  status: Type.Literal('active'),
  paused: Type.Boolean(),
  type: Type.Literal('full'),
  development_mode: Type.Integer(),
  name_servers: Type.Array(Type.String()),
  original_name_servers: Type.Null(),
  original_registrar: Type.Null(),
  original_dnshost: Type.Null(),
  created_on: Type.String(),
  modified_on: Type.String(),
  activated_on: orNull(Type.String()),
  account: named,
  owner: Type.Object({ id: Type.Null(), type: Type.String(), name: Type.Null() }),
  meta: Type.Object({ step: Type.Integer(), phishing_detected: Type.Boolean() }),
  plan: Type.Object({
    id: Type.String(),
    name: Type.String(),
    legacy_id: Type.String(),
    price: Type.Number(),
    currency: Type.String(),
    frequency: Type.String(),
    is_subscribed: Type.Boolean(),
    can_subscribe: Type.Boolean(),
    legacy_discount: Type.Boolean(),
    externally_managed: Type.Boolean(),
  }),
  permissions: Type.Array(Type.String(), { description: 'What the caller may do in the zone.' }),
})

const statuses = ['initializing', 'pending', 'active', 'moved'] as const
const types = ['full', 'partial', 'secondary', 'internal'] as const

const ZoneQuery = Type.Object({
  ...paging(),
  name: Type.Optional(
    Type.String({
      maxLength: 253,
      description:
        'Domain name; `contains:`, `starts_with:`, `ends_with:`, `equal:` or `not_equal:` may stand in front.',
    }),
  ),
  'account.id': Type.Optional(Type.String({ maxLength: 32 })),
  'account.name': Type.Optional(Type.String({ maxLength: 253, description: 'As `name`.' })),
  status: Type.Optional(Type.Enum([...statuses])),
  type: Type.Optional(Type.Array(Type.Enum([...types]))),
  match: Type.Enum(['any', 'all'], { default: 'all', description: 'Whether all filters or any of them must fit.' }),
  order: Type.Optional(Type.Enum(['name', 'status', 'account.id', 'account.name', 'plan.id'])),
  direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
})

/** Zones of the configuration. */
export function zones({ config }: Pick<ControlDeps, 'config'>): Endpoint[] {
  const shown = (zone: ZoneConfig, caller: Caller) => {
    const account = configIndex(config()).accounts.get(zone.account)
    return zoneResult(zone, account?.name ?? '', caller)
  }
  return [
    endpoint({
      method: 'get',
      path: '/zones',
      scopes: ['daemon'],
      permissions: [],
      summary: 'List the zones that the token sees',
      query: ZoneQuery,
      result: Type.Array(Zone),
      handle({ caller, query }) {
        const { order, direction, match } = query
        const seen = config()
          .zones.filter((zone) => mayUse(caller, [], { account: zone.account, zone: zone.id }))
          .map((zone) => shown(zone, caller))
        const filters = [
          query.name !== undefined && textFilter('name', query.name, (zone: ZoneResult) => zone.name),
          query['account.id'] !== undefined && ((zone: ZoneResult) => zone.account.id === query['account.id']),
          query['account.name'] !== undefined &&
            textFilter('account.name', query['account.name'], (zone) => zone.account.name),
          query.status !== undefined && ((zone: ZoneResult) => zone.status === query.status),
          query.type !== undefined && ((zone: ZoneResult) => query.type?.includes(zone.type)),
        ].filter((filter) => filter !== false)
        const found = seen.filter((zone) =>
          match === 'all' || filters.length === 0
            ? filters.every((filter) => filter(zone))
            : filters.some((filter) => filter(zone)),
        )
        if (order) found.sort((a, b) => (SORT[order](a) < SORT[order](b) ? -1 : 1))
        return page(direction === 'asc' ? found : found.toReversed(), query, (zone) => zone)
      },
    }),
    endpoint({
      method: 'get',
      path: '',
      scopes: ['zone'],
      permissions: [],
      summary: 'Read a zone',
      result: Zone,
      handle({ scope, caller }) {
        const zone = configIndex(config()).zones.get(scope.id)
        if (!zone) throw new ApiError('notVisible')
        return shown(zone, caller)
      },
    }),
  ]
}

type ZoneResult = ReturnType<typeof zoneResult>

const SORT = {
  name: (zone: ZoneResult) => zone.name,
  status: (zone: ZoneResult) => zone.status,
  'account.id': (zone: ZoneResult) => zone.account.id,
  'account.name': (zone: ZoneResult) => zone.account.name,
  'plan.id': (zone: ZoneResult) => zone.plan.id,
}

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
  of: (zone: ZoneResult) => string,
): (zone: ZoneResult) => boolean {
  const [, operator = 'equal', wanted = filter] = /^([a-z_]+):(.*)$/s.exec(filter) ?? []
  const test = OPERATORS[operator]
  if (!test) throw new ApiError('badQuery', `/${parameter}`, `has an unknown operator: ${operator}`)
  return (zone) => test(of(zone).toLowerCase(), wanted.toLowerCase())
}

function zoneResult(zone: ZoneConfig, accountName: string, caller: Caller) {
  const { id, name, plan } = zone
  const place = { account: zone.account, zone: id }
  return {
    id,
    name,
    status: 'active' as const,
    paused: false,
    type: 'full' as const,
    development_mode: 0,
    name_servers: [],
    original_name_servers: null,
    original_registrar: null,
    original_dnshost: null,
    created_on: UNKNOWN_TIME,
    modified_on: UNKNOWN_TIME,
    activated_on: null,
    account: { id: zone.account, name: accountName },
    owner: { id: null, type: 'user', name: null },
    meta: { step: 0, phishing_detected: false },
    plan: {
      id: plan,
      name: `${plan[0]?.toUpperCase()}${plan.slice(1)} Website`,
      legacy_id: plan,
      price: 0,
      currency: 'USD',
      frequency: '',
      is_subscribed: true,
      can_subscribe: false,
      legacy_discount: false,
      externally_managed: false,
    },
    permissions: PERMISSIONS.filter((permission) => mayUse(caller, [permission], place)),
  }
}
