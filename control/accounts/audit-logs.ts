import { Type, type Static } from 'typebox'
import type { ZoneConfig } from '../../src/config/schema.js'
import { mayUse } from '../http/auth/access.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY, ApiResponse, endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { MAX_ENTRIES, newestEntries, type NumberedEntry } from '../resources/newest-entries.js'

const PERMISSIONS = ['Account Settings Read', 'Account Settings Write'] as const
const RANGE = `from the last ${MAX_ENTRIES} changes of the installation`

const Time = (description: string) =>
  Type.String({
    pattern: '^\\d{4}-\\d\\d-\\d\\d(?:[Tt]\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d{1,9})?)?(?:[Zz]|[+-]\\d\\d:\\d\\d))?$',
    'x-message': 'must be a date or a time of RFC 3339',
    description,
  })
const Text = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))
const Direction = Type.Enum(['desc', 'asc'], { default: 'desc', description: 'Newest or oldest first.' })

/** A change, with the zone and the account that it belongs to. */
interface Found {
  readonly entry: NumberedEntry
  readonly zone: ZoneConfig | undefined
}

type Read = ReturnType<typeof reader>

/** Returns the function that finds the changes of an account that the caller may see, newest first. */
function reader({ config, store }: Pick<ControlDeps, 'config' | 'store'>) {
  const newest = newestEntries(store)
  return async (
    { scope, caller }: Pick<Call, 'scope' | 'caller'>,
    { since, before }: { since?: string; before?: string },
  ): Promise<readonly Found[]> => {
    const zones = new Map(
      config().zones.flatMap((zone) =>
        zone.account === scope.id && mayUse(caller, [], { account: zone.account, zone: zone.id })
          ? [[zone.id, zone] as const]
          : [],
      ),
    )
    const from = timeOf(since, '/since') ?? -Infinity
    const to = timeOf(before, '/before') ?? Infinity
    return (await newest.read()).flatMap((entry) => {
      const { type, id } = entry.resource.scope
      const at = Date.parse(entry.at)
      const zone = type === 'zone' ? zones.get(id) : undefined
      const isOwn = zone !== undefined || (type === 'account' && id === scope.id)
      return isOwn && at >= from && at < to ? [{ entry, zone }] : []
    })
  }
}

function timeOf(text: string | undefined, pointer: string): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new ApiError('badQuery', pointer, 'is not a time')
  return time
}

/** Changes made through the API, as the public API lists them. */
export function auditLogs(deps: ControlDeps): Endpoint[] {
  const read = reader(deps)
  return [listAuditLogs(read), listAuditLogsV2(deps, read)]
}

const AuditLog = Type.Object({
  id: Type.String(),
  action: Type.Object({ type: Type.String(), result: Type.Boolean() }),
  actor: Type.Object({
    id: Type.String(),
    type: Type.Enum(['user', 'Cloudflare'], { description: '`Cloudflare`: the daemon itself.' }),
    email: Type.Optional(Type.String()),
    ip: Type.Optional(Type.String()),
  }),
  interface: Type.Literal('API'),
  metadata: Type.Object({
    token_name: Type.Optional(Type.String()),
    zone_name: Type.Optional(Type.String()),
    request_id: Type.String(),
  }),
  oldValue: Type.String({ description: 'SHA-256 of the value before; empty if it did not exist.' }),
  newValue: Type.String({ description: 'SHA-256 of the value after; empty if it was deleted.' }),
  owner: Type.Object({ id: Type.String() }),
  resource: Type.Object({ id: Type.String(), type: Type.String() }),
  when: Type.String(),
})

function listAuditLogs(read: Read): Endpoint {
  return endpoint({
    method: 'get',
    path: '/audit_logs',
    scopes: ACCOUNT_ONLY,
    permissions: PERMISSIONS,
    summary: `List changes of an account and its zones, ${RANGE}`,
    query: Type.Object({
      ...paging({ most: 1000, usual: 100 }),
      id: Text('One entry.'),
      'action.type': Text('Such as create, update or delete.'),
      'actor.email': Text('E-mail address of a legacy key.'),
      'actor.ip': Text('Address of the client.'),
      'zone.name': Text('Name of a zone.'),
      since: Type.Optional(Time('Not before this time.')),
      before: Type.Optional(Time('Before this time.')),
      direction: Direction,
      hide_user_logs: Type.Boolean({ default: false, description: 'Leaves out changes of tokens and keys.' }),
    }),
    result: Type.Array(AuditLog),
    async handle(call) {
      const { query, scope } = call
      const wanted = (await read(call, query)).filter(
        ({ entry, zone }) =>
          fits(query.id, entry.number) &&
          fits(query['action.type'], entry.action) &&
          fits(query['actor.email'], emailOf(entry)) &&
          fits(query['actor.ip'], entry.actor.ip) &&
          fits(query['zone.name'], zone?.name) &&
          !(query.hide_user_logs && isUser(entry)),
      )
      const sorted = query.direction === 'asc' ? wanted.toReversed() : wanted
      return page(sorted, query, (found) => auditLog(scope.id, found))
    },
  })
}

const fits = (wanted: string | undefined, value: string | undefined): boolean =>
  wanted === undefined || wanted === value

const isUser = ({ actor: { type } }: NumberedEntry): boolean => type === 'token' || type === 'key'

const emailOf = ({ actor: { type, name } }: NumberedEntry): string | undefined => (type === 'key' ? name : undefined)

function auditLog(owner: string, { entry, zone }: Found): Static<typeof AuditLog> {
  const { number, actor, action, resource, requestId, before, after, at } = entry
  const email = emailOf(entry)
  return {
    id: number,
    action: { type: action, result: true },
    actor: {
      id: actor.id,
      type: isUser(entry) ? 'user' : 'Cloudflare',
      ...(email !== undefined && { email }),
      ...(actor.ip !== undefined && { ip: actor.ip }),
    },
    interface: 'API',
    metadata: {
      ...(actor.type === 'token' && actor.name !== undefined && { token_name: actor.name }),
      ...(zone && { zone_name: zone.name }),
      request_id: requestId,
    },
    oldValue: before ?? '',
    newValue: after ?? '',
    owner: { id: owner },
    resource: { id: resource.id, type: resource.kind },
    when: at,
  }
}

const AuditLogV2 = Type.Object({
  id: Type.String(),
  account: Type.Object({ id: Type.String(), name: Type.String() }),
  action: Type.Object({
    description: Type.String(),
    result: Type.Literal('success', { description: 'A rejected request changes nothing and has no entry.' }),
    time: Type.String(),
    type: Type.String(),
  }),
  actor: Type.Object({
    id: Type.String(),
    type: Type.Enum(['user', 'system']),
    context: Type.Optional(Type.Enum(['api_token', 'api_key'])),
    email: Type.Optional(Type.String()),
    ip_address: Type.Optional(Type.String()),
    token_id: Type.Optional(Type.String()),
    token_name: Type.Optional(Type.String()),
  }),
  raw: Type.Object({ cf_ray_id: Type.String() }),
  resource: Type.Object({ id: Type.String(), type: Type.String(), scope: Type.Enum(['accounts', 'zones']) }),
  zone: Type.Optional(Type.Object({ id: Type.String(), name: Type.String() })),
})
type AuditLogV2 = Static<typeof AuditLogV2>

/** Query members that select entries by a value; each also as `NAME.not`. */
const FILTERS = {
  id: ({ id }) => id,
  audit_log_id: ({ id }) => id,
  account_name: ({ account }) => account.name,
  action_result: ({ action }) => action.result,
  action_type: ({ action }) => action.type,
  actor_context: ({ actor }) => actor.context,
  actor_email: ({ actor }) => actor.email,
  actor_id: ({ actor }) => actor.id,
  actor_ip_address: ({ actor }) => actor.ip_address,
  actor_token_id: ({ actor }) => actor.token_id,
  actor_token_name: ({ actor }) => actor.token_name,
  actor_type: ({ actor }) => actor.type,
  raw_cf_ray_id: ({ raw }) => raw.cf_ray_id,
  resource_id: ({ resource }) => resource.id,
  resource_scope: ({ resource }) => resource.scope,
  resource_type: ({ resource }) => resource.type,
  zone_id: ({ zone }) => zone?.id,
  zone_name: ({ zone }) => zone?.name,
} as const satisfies Readonly<Record<string, (log: AuditLogV2) => string | undefined>>
type Filter = keyof typeof FILTERS
const FILTER_NAMES = Object.keys(FILTERS) as Filter[]

const Values = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 100, description }))

const filterQuery = Object.fromEntries(
  FILTER_NAMES.flatMap((name) => [
    [name, Values('One of these.')],
    [`${name}.not`, Values('None of these.')],
  ]),
) as Record<Filter | `${Filter}.not`, ReturnType<typeof Values>>

function listAuditLogsV2({ config }: Pick<ControlDeps, 'config'>, read: Read): Endpoint {
  return endpoint({
    method: 'get',
    path: '/logs/audit',
    scopes: ACCOUNT_ONLY,
    permissions: PERMISSIONS,
    summary: `List changes of an account and its zones with filters, ${RANGE}`,
    query: Type.Object({
      since: Time('Not before this time.'),
      before: Time('Before this time.'),
      direction: Direction,
      limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Maximum entries.' }),
      cursor: Text('From the previous response.'),
      ...filterQuery,
    }),
    result: Type.Array(AuditLogV2),
    async handle(call) {
      const { query, scope } = call
      const name = config().accounts.find(({ id }) => id === scope.id)?.name ?? ''
      const active = FILTER_NAMES.filter((key) => query[key] ?? query[`${key}.not`])
      const wanted = (await read(call, query))
        .map((found) => auditLogV2({ id: scope.id, name }, found))
        .filter((log) =>
          active.every((key) => {
            const value = FILTERS[key](log) ?? ''
            return query[key]?.includes(value) !== false && query[`${key}.not`]?.includes(value) !== true
          }),
        )
      const sorted = query.direction === 'asc' ? wanted.toReversed() : wanted
      const from = query.cursor === undefined ? 0 : sorted.findIndex(({ id }) => id === query.cursor) + 1
      if (from === 0 && query.cursor !== undefined)
        throw new ApiError('badQuery', '/cursor', 'is not a cursor of these entries')
      const result = sorted.slice(from, from + query.limit)
      const after = from + result.length < sorted.length ? result.at(-1)!.id : undefined
      const more = after === undefined ? { cursors: {} } : { cursor: after, cursors: { after } }
      return new ApiResponse(result, { result_info: { count: result.length, per_page: query.limit, ...more } })
    },
  })
}

function auditLogV2(account: { id: string; name: string }, { entry, zone }: Found): AuditLogV2 {
  const { number, at, action, actor, resource, requestId } = entry
  const email = emailOf(entry)
  return {
    id: number,
    account,
    action: { description: `${action} ${resource.kind} ${resource.id}`, result: 'success', time: at, type: action },
    actor: {
      id: actor.id,
      type: isUser(entry) ? 'user' : 'system',
      ...(isUser(entry) && { context: actor.type === 'key' ? ('api_key' as const) : ('api_token' as const) }),
      ...(email !== undefined && { email }),
      ...(actor.ip !== undefined && { ip_address: actor.ip }),
      ...(actor.type === 'token' && { token_id: actor.id, token_name: actor.name ?? '' }),
    },
    raw: { cf_ray_id: requestId },
    resource: { id: resource.id, type: resource.kind, scope: zone ? 'zones' : 'accounts' },
    ...(zone && { zone: { id: zone.id, name: zone.name } }),
  }
}
