import { Type, type Static } from 'typebox'
import { auditFacts } from '../../src/core/audit/audit-facts.js'
import type { AuditEntry } from '../../src/core/store.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY, endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { AuditTime, auditTime, MAX_EXAMINED, searchAudit, visibleTo } from '../resources/audit-entries.js'

const Text = (description: string) => Type.Optional(Type.String({ maxLength: 256, description }))

const Query = Type.Object({
  ...paging({ min: 1, max: 1000, usual: 100 }),
  id: Text('Only the entry with this id.'),
  'action.type': Text('Only these actions: create, update or delete.'),
  'actor.email': Text('Only changes of this legacy key.'),
  'actor.ip': Text('Only changes from this address.'),
  'zone.name': Text('Only changes of this zone.'),
  since: Type.Optional(AuditTime('Inclusive.')),
  before: Type.Optional(AuditTime('Exclusive.')),
  direction: Type.Enum(['desc', 'asc'], { default: 'desc', description: 'desc: newest first.' }),
  hide_user_logs: Type.Boolean({ default: false, description: 'Entries of accounts have none of users: no effect.' }),
  export: Type.Boolean({ default: false, description: 'CSV is not offered: must be false.' }),
})

const Entry = Type.Object({
  id: Type.String(),
  action: Type.Object({ result: Type.Boolean(), type: Type.String() }),
  actor: Type.Object({
    id: Type.String(),
    email: Type.Optional(Type.String()),
    ip: Type.Optional(Type.String()),
    type: Type.String(),
  }),
  interface: Type.String(),
  metadata: Type.Object({}, { description: 'Names of the token and of the zone.' }),
  newValue: Type.String({ description: 'SHA-256 of the JSON: values can be secret. Empty after a deletion.' }),
  oldValue: Type.String({ description: 'Likewise. Empty for what was created.' }),
  owner: Type.Object({ id: Type.String() }),
  resource: Type.Object({ id: Type.String(), type: Type.String() }),
  when: Type.String(),
})

/** The audit logs of an account: changes through the API, with their authors. */
export function auditLogs({ config, store }: Pick<ControlDeps, 'config' | 'store'>): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/audit_logs',
      scopes: ACCOUNT_ONLY,
      permissions: ['Account Settings Read', 'Account Settings Write'],
      summary: `List the changes of an account and its zones, from the ${MAX_EXAMINED} newest of the installation`,
      query: Query,
      result: Type.Array(Entry),
      async handle(call) {
        const { scope, query } = call
        if (query.export) throw new ApiError('badQuery', '/export', 'CSV is not offered; leave export out')
        const { since, before } = query
        const zones = new Map(config().zones.map(({ id, name }) => [id, name]))
        const visible = visibleTo(config(), call)
        const { entries } = await searchAudit(store, {
          order: 'newest_first',
          limit: MAX_EXAMINED,
          ...(since !== undefined && { since: auditTime(since, 'since') }),
          ...(before !== undefined && { before: auditTime(before, 'before') }),
          matches: (entry) => visible(entry) && isWanted(entry, query, zones.get(entry.resource.scope.id)),
        })
        const ordered = query.direction === 'asc' ? entries.toReversed() : entries
        return page(ordered, query, (entry) => logResponse(entry, scope.id, zones.get(entry.resource.scope.id)))
      },
    }),
  ]
}

function isWanted(entry: AuditEntry, query: Static<typeof Query>, zone: string | undefined): boolean {
  const { id, email } = auditFacts(entry)
  return (
    isOneOf(query.id, id) &&
    isOneOf(query['action.type'], entry.action) &&
    isOneOf(query['actor.email'], email) &&
    isOneOf(query['actor.ip'], entry.request?.ip) &&
    isOneOf(query['zone.name'], zone)
  )
}

const isOneOf = (asked: string | undefined, value: string | undefined): boolean =>
  asked === undefined || asked === value

function logResponse(entry: AuditEntry, owner: string, zone: string | undefined): Static<typeof Entry> {
  const { id, email, actorType, tokenName } = auditFacts(entry)
  const ip = entry.request?.ip
  return {
    id,
    action: { result: true, type: entry.action },
    actor: {
      id: entry.actor.id,
      ...(email !== undefined && { email }),
      ...(ip !== undefined && ip !== '' && { ip }),
      type: actorType,
    },
    interface: entry.request ? 'API' : '',
    metadata: {
      ...(tokenName !== undefined && { token_name: tokenName }),
      ...(zone !== undefined && { zone_name: zone }),
    },
    newValue: entry.after ?? '',
    oldValue: entry.before ?? '',
    owner: { id: owner },
    resource: { id: entry.resource.id, type: entry.resource.kind },
    when: entry.at,
  }
}
