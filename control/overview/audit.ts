import { Type, type Static } from 'typebox'
import type { AuditEntry } from '../../src/core/store.js'
import { mayUse } from '../http/auth/access.js'
import { ACCOUNT_ONLY, endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { MAX_ENTRIES, newestEntries } from '../resources/newest-entries.js'
import type { OverviewDeps } from './services.js'

const MAX_LISTED = 2000

const Entry = Type.Object({
  at: Type.String(),
  actor: Type.Object({ type: Type.String(), id: Type.String(), name: Type.Optional(Type.String()) }),
  action: Type.String(),
  resource: Type.Object({
    kind: Type.String(),
    id: Type.String(),
    zone_id: Type.Union([Type.String(), Type.Null()], { description: 'Null for resources of the account.' }),
  }),
  request_id: Type.String(),
})

/** Changes made through the API. */
export function auditEntries({ config, store }: OverviewDeps): Endpoint[] {
  const newest = newestEntries(store)
  return [
    endpoint({
      method: 'get',
      path: '/edged/audit',
      scopes: ACCOUNT_ONLY,
      permissions: ['Account Settings Read', 'Account Settings Write'],
      summary: `List the newest changes of an account and its zones, newest first, from the last ${MAX_ENTRIES} changes`,
      query: Type.Object({
        limit: Type.Integer({ minimum: 1, maximum: MAX_LISTED, default: 100, description: 'Maximum entries.' }),
      }),
      result: Type.Array(Entry),
      async handle({ scope, query, caller }) {
        const zones = new Set(
          config().zones.flatMap(({ id, account }) =>
            account === scope.id && mayUse(caller, [], { account, zone: id }) ? id : [],
          ),
        )
        const entries = (await newest.read()).filter(({ resource: { scope: of } }) =>
          of.type === 'zone' ? zones.has(of.id) : of.type === 'account' && of.id === scope.id,
        )
        return whole(entries.slice(0, query.limit).map(shown))
      },
    }),
  ]
}

const shown = ({ at, actor, action, resource, requestId }: AuditEntry): Static<typeof Entry> => ({
  at,
  actor,
  action,
  resource: {
    kind: resource.kind,
    id: resource.id,
    zone_id: resource.scope.type === 'zone' ? resource.scope.id : null,
  },
  request_id: requestId,
})
