import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { cacheReasonText } from '../../src/core/model/requests/cache-reason.js'
import type { RecordedFields, RecordPlace, RequestRecord } from '../../src/core/model/requests/request-record.js'
import type { RequestCoverage } from '../../src/core/model/requests/request-reader.js'
import { ApiError } from '../http/errors.js'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { InvalidQuery } from '../http/query.js'
import { AuditTime, queryTime } from '../resources/audit-entries.js'
import { coverageOf, ITEM, requestItem, RequestItem, type RequestsDeps } from '../resources/request-item.js'

const MAX_LIMIT = 1000
const MAX_EXPRESSION = 16_384

const fields = (description: string) => Type.Record(Type.String(), Type.String(), { description })

const Detail = Type.Object({
  ...ITEM,
  scheme: Type.Enum(['http', 'https']),
  http_version: Type.String({ description: '1.0, 1.1 or 2.' }),
  cache_reason: Type.Union([Type.String(), Type.Null()], {
    description: 'One sentence why the cache did not answer. Null if it did, or if it only had no response yet.',
  }),
  phases: Type.Array(
    Type.Object({
      name: Type.Enum(['rules', 'cache', 'worker', 'origin', 'convert', 'send']),
      start_ms: Type.Number({ description: 'Since the request arrived.' }),
      ms: Type.Number(),
      result: Type.String({ description: 'A status, an action or what the cache had; may be empty.' }),
    }),
    { description: 'The stages that it passed, in order.' },
  ),
  rules: Type.Array(
    Type.Object({
      ruleset_id: Type.String(),
      rule_id: Type.String(),
      phase: Type.String(),
      name: Type.String({ description: 'Description of the rule.' }),
      action: Type.String(),
    }),
    { description: 'The first 16 rules that acted on it, in order.' },
  ),
  origin: Type.Union(
    [
      Type.Object({
        url: Type.String(),
        status: Type.Integer({ description: '0 if it did not respond.' }),
        tries: Type.Integer({ description: 'Origins that were tried, with this one.' }),
      }),
      Type.Null(),
    ],
    { description: 'The origin that was asked last. Null if none was.' },
  ),
  worker: Type.Union([Type.String(), Type.Null()], { description: 'Name of the Worker that ran.' }),
  agent_operator: Type.Union([Type.String(), Type.Null()]),
  agent_category: Type.Union([Type.String(), Type.Null()]),
  fields: Type.Object({
    request: fields('Header fields of the request that are kept. Cookies and credentials never are.'),
    response: fields('Header fields of the response that are kept.'),
  }),
})

const Query = Type.Object({
  since: Type.Optional(AuditTime('Inclusive. Default: from the first request that is kept.')),
  until: Type.Optional(AuditTime('Exclusive. Default: now.')),
  ray: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$', description: 'Only the request with this ray id.' })),
  filter: Type.Optional(
    Type.String({
      maxLength: MAX_EXPRESSION,
      description:
        'An expression of the rules language, which may read the response. Bodies, cookies and header fields that are not kept are missing.',
    }),
  ),
  limit: Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: 100, description: 'Maximum requests.' }),
  cursor: Type.Optional(Type.String({ maxLength: 100, description: '`cursor` of the page before.' })),
})

const rows = area<RequestsDeps>({ scopes: ['zone'], access: ACCESS.logpush })

/** The last requests of a zone. */
export const requests = rows.endpoints([
  rows.get('/edged/requests', {
    summary: 'List the last requests of a zone, of all machines that answer, newest first',
    query: Query,
    result: Type.Array(RequestItem),
    async handle(deps, { scope, query }) {
      const { ray, limit } = query
      const range = {
        since: query.since === undefined ? 0 : queryTime(query.since, 'since'),
        until: query.until === undefined ? Infinity : queryTime(query.until, 'until'),
      }
      if (range.since >= range.until) throw new InvalidQuery([{ pointer: '/since', message: 'must be before until' }])
      if (ray !== undefined) {
        const found = await deps.requests().find(scope.id, ray)
        const isWanted = found && found.at >= range.since && found.at < range.until
        const { coverage } = found ? { coverage: undefined } : await deps.requests().kept(scope.id)
        return listed(isWanted ? [found] : [], isWanted ? 1 : 0, { coverage })
      }
      const after = query.cursor === undefined ? undefined : placeOf(query.cursor)
      const { records, examined, ...more } = await inQuery('filter', async () =>
        deps.requests().page(scope.id, { ...range, after, filter: query.filter, limit }),
      )
      return listed(records, examined, more)
    },
  }),
  rows.get('/edged/requests/:ray_id', {
    summary: 'Read one of the last requests: its stages, rules, origin and header fields',
    result: Detail,
    async handle(deps, { scope, params: { ray_id: ray } }) {
      const found = await deps.requests().find(scope.id, ray.toLowerCase())
      if (found) return detail(found)
      const { from, isSampled, coverage } = await deps.requests().kept(scope.id)
      const kept = {
        kept_from: from === undefined ? null : new Date(from).toISOString(),
        sampled: isSampled,
        coverage: coverageOf(coverage),
      }
      throw new ApiError('requestNotKept', undefined, { meta: kept, top: kept })
    },
  }),
])

function listed(
  records: readonly RequestRecord[],
  examined: number,
  { next, coverage }: { next?: RecordPlace | undefined; coverage?: RequestCoverage | undefined },
) {
  const cursor = next && cursorOf(next)
  return new ApiResponse(records.map(requestItem), {
    result_info: {
      count: records.length,
      examined,
      ...(coverage && { coverage: coverageOf(coverage) }),
      ...(cursor !== undefined && { cursor, cursors: { after: cursor } }),
    },
  })
}

const cursorOf = ({ at, ray }: RecordPlace): string => Buffer.from(`${at}-${ray}`).toString('base64url')

function placeOf(cursor: string): RecordPlace {
  const [, at, ray] = /^(\d{1,15})-([0-9a-f]{16})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  if (at === undefined || ray === undefined)
    throw new InvalidQuery([{ pointer: '/cursor', message: 'is not the cursor of a page' }])
  return { at: Number(at), ray }
}

/** Reports the issues of a value as those of a query parameter. */
async function inQuery<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidQuery(error.issues.map(({ message }) => ({ pointer: `/${name}`, message })))
  }
}

const detail = (record: RequestRecord): Static<typeof Detail> => ({
  ...requestItem(record),
  scheme: record.scheme,
  http_version: record.http,
  cache_reason: record.why === undefined ? null : (cacheReasonText(record.why) ?? null),
  phases: [...record.phases],
  rules: [...(record.rules ?? [])],
  origin: record.origin ?? null,
  worker: record.worker ?? null,
  agent_operator: record.agent?.operator ?? null,
  agent_category: record.agent?.category ?? null,
  fields: { request: fieldsOf(record.request), response: fieldsOf(record.response) },
})

/** Fields of one name are one value, with commas between them. */
function fieldsOf(list: RecordedFields): Record<string, string> {
  const fields: Record<string, string> = {}
  for (let at = 0; at + 1 < list.length; at += 2) {
    const name = list[at]!
    fields[name] = fields[name] === undefined ? list[at + 1]! : `${fields[name]}, ${list[at + 1]!}`
  }
  return fields
}
