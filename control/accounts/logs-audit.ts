import { Type, type Static } from 'typebox'
import { auditFacts, type AuditFacts } from '../../src/core/audit/audit-facts.js'
import type { AuditEntry } from '../../src/core/store.js'
import { configIndex } from '../http/auth/config-index.js'
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

/** Reads the entries of an account and of its zones as its callers see them. */
class AuditLogs {
  readonly #deps: LogsAuditDeps

  constructor(deps: LogsAuditDeps) {
    this.#deps = deps
  }

  /** Returns one window of the entries that the caller may see and that are wanted. */
  async list(
    call: Pick<Call, 'scope' | 'caller'>,
    { since, before, direction, limit, cursor }: Window,
    isWanted: (subject: Subject) => boolean,
  ): Promise<AuditResult> {
    const { config, store } = this.#deps
    const visible = visibleTo(config(), call)
    return await searchAudit(store, {
      order: direction === 'asc' ? 'oldest_first' : 'newest_first',
      cursor,
      limit,
      since: auditTime(since, 'since'),
      before: auditTime(before, 'before'),
      matches: (entry) => visible(entry) && isWanted(this.#subjectOf(entry, call.scope.id)),
    })
  }

  /** Returns the entry with an id, within a day of a time. Throws `notFound`. */
  async entry(call: Pick<Call, 'scope' | 'caller'>, id: string, actionTime: string): Promise<AuditEntry> {
    const { config, store } = this.#deps
    const around = auditTime(actionTime, 'action_time')
    const visible = visibleTo(config(), call)
    const { entries } = await searchAudit(store, {
      order: 'newest_first',
      limit: 1,
      since: around - DAY_MS,
      before: around + DAY_MS,
      matches: (entry) => auditFacts(entry).id === id && visible(entry),
    })
    const [found] = entries
    if (!found) throw new ApiError('notFound', undefined, 'no entry within a day of action_time has this id')
    return found
  }

  response({ entries, cursor }: AuditResult, { scope, query: { limit } }: Searching, more = {}) {
    return new ApiResponse(
      entries.map((entry) => logResponse(this.#subjectOf(entry, scope.id))),
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
  }

  #subjectOf(entry: AuditEntry, accountId: string): Subject {
    const { accounts, zones } = configIndex(this.#deps.config())
    const { scope } = entry.resource
    const zone = scope.type === 'zone' ? zones.get(scope.id) : undefined
    return {
      entry,
      facts: auditFacts(entry),
      account: { id: accountId, name: accounts.get(accountId)?.name ?? '' },
      zone: zone && { id: zone.id, name: zone.name },
    }
  }
}

type LogsAuditDeps = Pick<ControlDeps, 'config' | 'store'>

/**
 * The second version of the audit logs. Entries have more members, each member is a filter, and the history of one
 * resource can be read.
 */
export function logsAudit(deps: LogsAuditDeps): Endpoint[] {
  const logs = new AuditLogs(deps)
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
        return logs.response(await logs.list(call, query, filterOf(query)), { ...call, query })
      },
    }),
    endpoint({
      ...common,
      path: '/logs/audit/:id/history',
      summary: 'List the changes of the resource that an entry of the audit logs is about',
      query: HistoryQuery,
      async handle(call) {
        const { params, query } = call
        const { resource } = await logs.entry(call, params.id, query.action_time)
        const found = await logs.list(call, query, ({ entry }) => isSameResource(entry.resource, resource))
        return logs.response(found, call, { history_status: 'exact' })
      },
    }),
  ]
}

const isSameResource = (a: AuditEntry['resource'], b: AuditEntry['resource']): boolean =>
  a.kind === b.kind && a.id === b.id && a.scope.type === b.scope.type && a.scope.id === b.scope.id

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
