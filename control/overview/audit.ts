import { Type, type Static } from 'typebox'
import type { AuditEntry } from '../../src/core/store.js'
import { ACCOUNT_ONLY, endpoint, type Endpoint } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { MAX_EXAMINED, searchAudit, visibleTo } from '../resources/audit-entries.js'
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
        return whole(entries.map(shown))
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
