import { Type, type Static } from 'typebox'
import { auditFacts, type AuditFacts } from '../../src/core/audit-facts.js'
import type { AuditEntry } from '../../src/core/store.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY, ApiResponse, endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { AuditTime, auditTime, searchAudit, visibleTo, type AuditResult } from '../resources/audit-entries.js'

interface Subject {
  readonly entry: AuditEntry
  readonly facts: AuditFacts
  readonly account: { readonly id: string; readonly name: string }
  readonly zone: { readonly id: string; readonly name: string } | undefined
}

/** What entries can be filtered by. */
const FILTERS: Readonly<Record<string, (subject: Subject) => string | undefined>> = {
  id: ({ facts }) => facts.id,
  audit_log_id: ({ facts }) => facts.id,
  account_name: ({ account }) => account.name,
  action_result: () => 'success',
  action_type: ({ entry }) => entry.action,
  actor_context: ({ facts }) => facts.context,
  actor_email: ({ facts }) => facts.email,
  actor_id: ({ entry }) => entry.actor.id,
  actor_ip_address: ({ entry }) => entry.request?.ip,
  actor_token_id: ({ facts }) => facts.tokenId,
  actor_token_name: ({ facts }) => facts.tokenName,
  actor_type: ({ facts }) => facts.actorType,
  raw_cf_ray_id: ({ entry }) => entry.requestId,
  raw_method: ({ entry }) => entry.request?.method,
  raw_uri: ({ entry }) => entry.request?.path,
  resource_id: ({ entry }) => entry.resource.id,
  resource_scope: ({ facts }) => facts.resourceScope,
  resource_type: ({ entry }) => entry.resource.kind,
  zone_id: ({ zone }) => zone?.id,
  zone_name: ({ zone }) => zone?.name,
}

const Texts = (description: string) => Type.Array(Type.String({ maxLength: 256 }), { maxItems: 50, description })

const filters = Object.fromEntries(
  Object.keys(FILTERS).flatMap((name) => [
    [name, Type.Optional(Texts('Only entries with one of these values.'))],
    [`${name}.not`, Type.Optional(Texts('Only entries without these values.'))],
  ]),
)

const window = {
  since: AuditTime('Inclusive.'),
  before: AuditTime('Exclusive.'),
  direction: Type.Enum(['desc', 'asc'], { default: 'desc', description: 'desc: newest first.' }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Maximum entries.' }),
  cursor: Type.Optional(Type.String({ maxLength: 64, description: 'Of the page before, from its result_info.' })),
}
const Query = Type.Object({ ...window, ...filters })
const HistoryQuery = Type.Object({ ...window, action_time: AuditTime('When the change was made.') })
type Searching = Pick<Call<string, unknown, { readonly limit: number }>, 'scope' | 'query'>
type Window = Pick<Static<typeof HistoryQuery>, keyof typeof window>

const Optional = Type.Optional(Type.String())
const Entry = Type.Object({
  id: Type.String(),
  account: Type.Object({ id: Type.String(), name: Type.String() }),
  action: Type.Object({ description: Type.String(), result: Type.String(), time: Type.String(), type: Type.String() }),
  actor: Type.Object({
    id: Type.String(),
    context: Optional,
    email: Optional,
    ip_address: Optional,
    token_id: Optional,
    token_name: Optional,
    type: Type.String(),
  }),
  raw: Type.Object({ cf_ray_id: Type.String(), method: Optional, uri: Optional, user_agent: Optional }),
  resource: Type.Object({ id: Type.String(), scope: Type.String(), type: Type.String() }),
  zone: Type.Optional(Type.Object({ id: Type.String(), name: Type.String() })),
})

const DAY_MS = 86_400_000

/** The second version of the audit logs: more members, filters by each of them, and the history of one resource. */
export function logsAudit({ config, store }: Pick<ControlDeps, 'config' | 'store'>): Endpoint[] {
  const subjectOf = (entry: AuditEntry, accountId: string): Subject => {
    const { accounts, zones } = config()
    const { scope } = entry.resource
    const zone = scope.type === 'zone' ? zones.find(({ id }) => id === scope.id) : undefined
    return {
      entry,
      facts: auditFacts(entry),
      account: { id: accountId, name: accounts.find(({ id }) => id === accountId)?.name ?? '' },
      zone: zone && { id: zone.id, name: zone.name },
    }
  }

  const found = async (
    call: Pick<Call, 'scope' | 'caller'>,
    { since, before, direction, limit, cursor }: Window,
    isWanted: (subject: Subject) => boolean,
  ): Promise<AuditResult> => {
    const visible = visibleTo(config(), call)
    return await searchAudit(store, {
      order: direction === 'asc' ? 'oldest_first' : 'newest_first',
      cursor,
      limit,
      since: auditTime(since, 'since'),
      before: auditTime(before, 'before'),
      matches: (entry) => visible(entry) && isWanted(subjectOf(entry, call.scope.id)),
    })
  }

  const respond = ({ entries, cursor }: AuditResult, { scope, query: { limit } }: Searching, more = {}) =>
    new ApiResponse(
      entries.map((entry) => logResponse(subjectOf(entry, scope.id))),
      {
        result_info: {
          count: entries.length,
          per_page: limit,
          // The documentation has `cursor`, the official clients read `cursors.after`.
          ...(cursor !== undefined && { cursor, cursors: { after: cursor } }),
          ...more,
        },
      },
    )

  const common = {
    method: 'get',
    scopes: ACCOUNT_ONLY,
    permissions: ['Account Settings Read', 'Account Settings Write'],
    result: Type.Array(Entry),
  } as const
  return [
    endpoint({
      ...common,
      path: '/logs/audit',
      summary: 'List the changes of an account and its zones within a time range',
      query: Query,
      async handle(call) {
        const query: Window & Readonly<Record<string, unknown>> = call.query
        return respond(await found(call, query, filterOf(query)), { ...call, query })
      },
    }),
    endpoint({
      ...common,
      path: '/logs/audit/:id/history',
      summary: 'List the changes of the resource that an entry of the audit logs is about',
      query: HistoryQuery,
      async handle(call) {
        const { params, query } = call
        const around = auditTime(query.action_time, 'action_time')
        const [source] = (
          await searchAudit(store, {
            order: 'newest_first',
            limit: 1,
            since: around - DAY_MS,
            before: around + DAY_MS,
            matches: (entry) => auditFacts(entry).id === params.id && visibleTo(config(), call)(entry),
          })
        ).entries
        if (!source) throw new ApiError('notFound', undefined, 'no entry within a day of action_time has this id')
        const { kind, id, scope: of } = source.resource
        const result = await found(
          call,
          query,
          ({ entry: { resource } }) =>
            resource.kind === kind &&
            resource.id === id &&
            resource.scope.type === of.type &&
            resource.scope.id === of.id,
        )
        return respond(result, call, { history_status: 'exact' })
      },
    }),
  ]
}

/** Returns the test for the filters of a query. */
function filterOf(query: Readonly<Record<string, unknown>>): (subject: Subject) => boolean {
  const tests = Object.entries(FILTERS).flatMap(([name, valueOf]) => {
    const only = query[name] as readonly string[] | undefined
    const not = query[`${name}.not`] as readonly string[] | undefined
    return [
      ...(only ? [(subject: Subject) => only.includes(valueOf(subject) ?? '')] : []),
      ...(not ? [(subject: Subject) => !not.includes(valueOf(subject) ?? '')] : []),
    ]
  })
  return (subject) => tests.every((test) => test(subject))
}

function logResponse({ entry, facts, account, zone }: Subject): Static<typeof Entry> {
  const { at, actor, action, resource, requestId, request } = entry
  return {
    id: facts.id,
    account,
    action: { description: facts.description, result: 'success', time: at, type: action },
    actor: {
      id: actor.id,
      type: facts.actorType,
      ...defined({
        context: facts.context,
        email: facts.email,
        ip_address: request?.ip,
        token_id: facts.tokenId,
        token_name: facts.tokenName,
      }),
    },
    raw: {
      cf_ray_id: requestId,
      ...defined({ method: request?.method, uri: request?.path, user_agent: request?.userAgent }),
    },
    resource: { id: resource.id, scope: facts.resourceScope, type: resource.kind },
    ...(zone && { zone }),
  }
}

/** Leaves out members that have no text. */
const defined = (members: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, text]) => (text === undefined || text === '' ? [] : [[name, text]])),
  )
