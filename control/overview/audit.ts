import { Type, type Static } from 'typebox'
import { kind, type AuditEntry } from '../../src/core/store.js'
import { mayUse } from '../http/auth/access.js'
import { ACCOUNT_ONLY, endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { MAX_EXAMINED, searchAudit, visibleTo } from '../resources/audit-entries.js'
import { SHOWN_KINDS } from '../resources/shown-kinds.js'
import type { OverviewDeps } from './services.js'

/** Changes of one response. */
const MAX_ENTRIES = 2000

const Entry = Type.Object({
  at: Type.String(),
  actor: Type.Object({ type: Type.String(), id: Type.String(), name: Type.Optional(Type.String()) }),
  action: Type.String(),
  resource: Type.Object({
    kind: Type.String(),
    id: Type.String(),
    zone_id: Type.Union([Type.String(), Type.Null()], { description: 'Null for resources of the account.' }),
  }),
  object: Type.Object(
    {
      type: Type.String({ description: 'What was changed, as in resource.kind.' }),
      id: Type.String(),
      name: Type.String({ description: 'As it is called now; the id if it has no name or is deleted.' }),
      zone: Type.Union([Type.String(), Type.Null()], { description: 'Name of its zone.' }),
    },
    { description: 'The same for people.' },
  ),
  before: Type.Unknown({
    description:
      'The record before the change, with *** in place of secrets; null for a creation. Lists and other parts that have their own ' +
      'records are not in it.',
  }),
  after: Type.Unknown({ description: 'The record after the change; null for a deletion.' }),
  extent: Type.Enum(['whole', 'changes', 'part', 'hidden', 'none'], {
    description:
      'What before and after have. changes: only the members and items that differ, because one of them has more than 4,096 ' +
      'characters of JSON. part: the beginning of these, texts cut after 512 characters, because they have more too. hidden: ' +
      'nothing, because the token may not read such a record. none: nothing, because the entry has none.',
  }),
  request_id: Type.String(),
})

/** Changes made through the API. */
export function auditEntries({ config, store }: OverviewDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/edged/audit',
      scopes: ACCOUNT_ONLY,
      permissions: ['Account Settings Read', 'Account Settings Write'],
      summary: `List the newest changes of an account and its zones, newest first, from the ${MAX_EXAMINED} newest of the installation`,
      query: Type.Object({
        limit: Type.Integer({ minimum: 1, maximum: MAX_ENTRIES, default: 100, description: 'Maximum entries.' }),
      }),
      result: Type.Array(Entry),
      async handle(call) {
        const { entries } = await searchAudit(store, {
          order: 'newest_first',
          limit: call.query.limit,
          matches: visibleTo(config(), call),
        })
        const zones = new Map(config().zones.map(({ id, name }) => [id, name]))
        return whole(entries.map((entry) => ({ ...shown(entry, store, zones), ...valuesOf(entry, call) })))
      },
    }),
  ]
}

const shown = (
  { at, actor, action, resource, requestId }: AuditEntry,
  store: OverviewDeps['store'],
  zones: ReadonlyMap<string, string>,
): Omit<Static<typeof Entry>, 'before' | 'after' | 'extent'> => ({
  at,
  actor,
  action,
  resource: {
    kind: resource.kind,
    id: resource.id,
    zone_id: resource.scope.type === 'zone' ? resource.scope.id : null,
  },
  object: {
    type: resource.kind,
    id: resource.id,
    name: nameOf(store.get(kind<unknown>(resource.kind), resource.scope, resource.id)?.value) ?? resource.id,
    zone: resource.scope.type === 'zone' ? (zones.get(resource.scope.id) ?? resource.scope.id) : null,
  },
  request_id: requestId,
})

/** Returns a record before and after its change, if the caller may read it. */
function valuesOf(
  { resource: { kind: name, scope }, values }: AuditEntry,
  { caller, scope: of }: Pick<Call, 'caller' | 'scope'>,
): Pick<Static<typeof Entry>, 'before' | 'after' | 'extent'> {
  if (!values) return { before: null, after: null, extent: 'none' }
  const place = { account: of.id, ...(scope.type === 'zone' && { zone: scope.id }) }
  const read = SHOWN_KINDS.get(name)?.read
  if (!read || !mayUse(caller, read, place)) return { before: null, after: null, extent: 'hidden' }
  const { before = null, after = null, extent } = values
  return { before, after, extent }
}

/** Returns the name of a record. Undefined if it has none. */
function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { name, label } = value as { readonly name?: unknown; readonly label?: unknown }
  return [name, label].find((text): text is string => typeof text === 'string' && text !== '')
}
