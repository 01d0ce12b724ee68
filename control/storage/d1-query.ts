import { Type, type Static } from 'typebox'
import type { Scope } from '../../src/core/scope.js'
import { strict } from '../../src/core/schema.js'
import { SqlError, type ArrayRows, type Databases, type ObjectRows } from '../../src/workers/runtime/databases.js'
import { DataAway } from '../../src/workers/runtime/data-homes.js'
import { DatabasesBusy, QueryStopped } from '../../src/workers/runtime/query-line.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'

export const DATABASE = '/d1/database/:database_id'
const MAX_BODY_BYTES = 10 * 1024 * 1024

const query = {
  sql: Type.String({ minLength: 1, maxLength: 5_000_000 }),
  params: Type.Optional(
    Type.Array(Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]), { maxItems: 100 }),
  ),
}
const Queries = Type.Object(
  {
    ...query,
    sql: Type.Optional(query.sql),
    batch: Type.Optional(Type.Array(Type.Object(query, strict), { minItems: 1, maxItems: 1000 })),
  },
  strict,
)
const Result = Type.Object({ success: Type.Boolean(), results: Type.Unknown(), meta: Type.Object({}) })

export interface QueryDeps {
  /** Returns undefined if this server runs no Workers, because databases need the same runtime. */
  readonly databases: () => Databases | undefined
  /** Throws if the account has no such database. */
  readonly assertDatabase: (scope: Scope, id: string) => void
}

/** Returns the databases of this server. Throws if there are none, or if the account has no such database. */
export function opened({ databases, assertDatabase }: QueryDeps, scope: Scope, id: string): Databases {
  assertDatabase(scope, id)
  const found = databases()
  if (!found) throw new ApiError('noRuntime')
  return found
}

const rows = area<QueryDeps>({ scopes, access: ACCESS.d1, refusal: 'badDatabase' })

/** Queries of databases. */
export const d1Queries = rows.endpoints([
  rows.post(`${DATABASE}/query`, {
    body: Queries,
    maxBytes: MAX_BODY_BYTES,
    jsonAs: ['text/plain'],
    result: Type.Array(Result),
    summary: 'Run SQL in one transaction; rows are objects',
    handle: async (deps, call) => await run<ObjectRows>(deps, call, 'ARRAY_OF_OBJECTS'),
  }),
  rows.post(`${DATABASE}/raw`, {
    body: Queries,
    maxBytes: MAX_BODY_BYTES,
    jsonAs: ['text/plain'],
    result: Type.Array(Result),
    summary: 'Run SQL in one transaction; rows are arrays behind the names of the columns',
    handle: async (deps, call) => await run<ArrayRows>(deps, call, 'ROWS_AND_COLUMNS'),
  }),
])

async function run<R>(
  deps: QueryDeps,
  { scope, params, body }: Call<'database_id', Static<typeof Queries>>,
  format: 'ARRAY_OF_OBJECTS' | 'ROWS_AND_COLUMNS',
) {
  if ((body.sql === undefined) === (body.batch === undefined))
    throw new ApiError('badDatabase', '/sql', 'exactly one of sql and batch is required')
  const id = params.database_id
  const queries = body.batch ?? [{ sql: body.sql ?? '', params: body.params }]
  return await opened(deps, scope, id).query<R>(scope, id, queries, format).catch(toApiError)
}

/** Throws the error of the API that corresponds to an error of a database. */
export function toApiError(error: unknown): never {
  if (error instanceof DataAway)
    throw new ApiError('unavailable', undefined, { message: error.message, headers: { 'retry-after': '5' } })
  if (error instanceof QueryStopped) throw new ApiError('queryStopped', undefined, error.message)
  if (error instanceof DatabasesBusy)
    throw new ApiError('databasesBusy', undefined, { message: error.message, headers: { 'retry-after': '5' } })
  throw error instanceof SqlError ? new ApiError('badDatabase', undefined, error.message) : error
}
