import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Type, type Static } from 'typebox'
import type { Blobs } from '../../src/core/blobs.js'
import type { Clock } from '../../src/core/clock.js'
import type { Scope } from '../../src/core/scope.js'
import { account } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { strict } from '../../src/core/schema.js'
import {
  SqlError,
  type ArrayRows,
  type Databases,
  type ObjectRows,
  type SqlMeta,
} from '../../src/workers/runtime/databases.js'
import { DataAway } from '../../src/workers/runtime/data-homes.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, endpoint, FileResponse, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/auth/permissions.js'
import { PREFIX } from '../http/prefix.js'
import { ownUrl } from '../http/websocket-url.js'

const PATH = '/d1/database/:database_id'
const FILES = '/d1/files/:file_id'
const MAX_BODY_BYTES = 10 * 1024 * 1024
const MAX_IMPORT_BYTES = 64 * 1024 * 1024
const FILE_LIFETIME_MS = 3_600_000

/** SQL on its way into or out of a database. Scope: the account; id: 64 random hexadecimal digits, which are the secret of its URL. */
interface SqlFile {
  readonly database: string
  readonly created: number
  /** MD5 of an upload that is expected. */
  readonly etag?: string
  readonly blob?: string
}
const SQL_FILES = kind<SqlFile>('d1_file')

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

const Export = Type.Object(
  {
    output_format: Type.Enum(['polling']),
    current_bookmark: Type.Optional(Type.String()),
    dump_options: Type.Optional(
      Type.Object(
        {
          no_data: Type.Optional(Type.Boolean()),
          no_schema: Type.Optional(Type.Boolean()),
          tables: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
        },
        strict,
      ),
    ),
  },
  strict,
)
const Import = Type.Object(
  {
    action: Type.Enum(['init', 'ingest', 'poll']),
    etag: Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{32}$', description: 'MD5 of the file.' })),
    filename: Type.Optional(Type.String()),
    current_bookmark: Type.Optional(Type.String()),
  },
  strict,
)

export interface QueryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly blobs: () => Blobs
  /** Undefined: this server runs no Workers, and databases need the same runtime. */
  readonly databases: () => Databases | undefined
  /** Throws if the account has no such database. */
  readonly assertDatabase: (scope: Scope, id: string) => void
}

/** Queries, exports and imports of databases. */
export function d1Queries({ store, clock, blobs, databases, assertDatabase }: QueryDeps): Endpoint[] {
  const opened = (scope: Scope, id: string): Databases => {
    assertDatabase(scope, id)
    const found = databases()
    if (!found) throw new ApiError('noRuntime')
    return found
  }
  const run = async <R>(
    scope: Scope,
    id: string,
    body: Static<typeof Queries>,
    format: 'ARRAY_OF_OBJECTS' | 'ROWS_AND_COLUMNS',
  ) => {
    if ((body.sql === undefined) === (body.batch === undefined))
      throw new ApiError('badDatabase', '/sql', 'exactly one of sql and batch is required')
    const queries = body.batch ?? [{ sql: body.sql ?? '', params: body.params }]
    return await opened(scope, id).query<R>(scope, id, queries, format).catch(toApiError)
  }
  const secretFile = async (scope: Scope, value: SqlFile): Promise<string> => {
    const oldest = clock.now() - FILE_LIFETIME_MS
    const over = store.list(SQL_FILES, scope).filter(({ value: { created } }) => created < oldest)
    const id = randomBytes(32).toString('hex')
    await store.batch([
      { kind: SQL_FILES, scope, id, value, ifVersion: 0 },
      ...over.map((one) => ({ kind: SQL_FILES, scope, id: one.id, value: undefined })),
    ])
    return id
  }
  const fileOf = (params: Readonly<Record<string, string>>): { scope: Scope; id: string; file: SqlFile } => {
    const { account_id: owner = '', file_id: id = '' } = params
    const scope = account(owner)
    const found = store.get(SQL_FILES, scope, id)?.value
    if (!found || found.created < clock.now() - FILE_LIFETIME_MS) throw new ApiError('notFound')
    return { scope, id, file: found }
  }
  const row = { scopes, refusal: 'badDatabase' } as const
  const queryRow = {
    ...row,
    method: 'post',
    permissions: ACCESS.d1.write,
    body: Queries,
    maxBytes: MAX_BODY_BYTES,
    jsonAs: ['text/plain'],
    result: Type.Array(Result),
  } as const
  return [
    endpoint({
      ...queryRow,
      path: `${PATH}/query`,
      summary: 'Run SQL in one transaction; rows are objects',
      handle: async ({ scope, params, body }) =>
        await run<ObjectRows>(scope, params.database_id, body, 'ARRAY_OF_OBJECTS'),
    }),
    endpoint({
      ...queryRow,
      path: `${PATH}/raw`,
      summary: 'Run SQL in one transaction; rows are arrays behind the names of the columns',
      handle: async ({ scope, params, body }) =>
        await run<ArrayRows>(scope, params.database_id, body, 'ROWS_AND_COLUMNS'),
    }),
    endpoint({
      ...row,
      method: 'post',
      path: `${PATH}/export`,
      permissions: ACCESS.d1.read,
      summary: 'Write a database as SQL to a file; its URL is valid for an hour',
      body: Export,
      result: Type.Object({}),
      async handle({ scope, params, body: { dump_options: options = {} }, request }) {
        const id = params.database_id
        const { no_schema: noSchema = false, no_data: noData = false, tables = [] } = options
        const sql = await opened(scope, id).dump(scope, id, { noSchema, noData, tables }).catch(toApiError)
        const blob = await blobs().put(Buffer.from(sql))
        const file = await secretFile(scope, { database: id, created: clock.now(), blob })
        return {
          success: true,
          type: 'export',
          status: 'complete',
          at_bookmark: bookmark(clock),
          messages: [],
          result: { filename: `${id}.sql`, signed_url: fileUrl(request, scope, file) },
        }
      },
    }),
    endpoint({
      ...row,
      method: 'post',
      path: `${PATH}/import`,
      permissions: ACCESS.d1.write,
      summary: 'Run an SQL file in one transaction: init returns the URL to upload it to, ingest runs it',
      body: Import,
      result: Type.Object({}),
      async handle({ scope, params, body: { action, etag, filename = '' }, request }) {
        const id = params.database_id
        const database = opened(scope, id)
        if (action === 'init') {
          if (etag === undefined) throw new ApiError('badDatabase', '/etag', 'is required')
          const file = await secretFile(scope, { database: id, created: clock.now(), etag: etag.toLowerCase() })
          return { success: true, type: 'import', filename: file, upload_url: fileUrl(request, scope, file) }
        }
        if (action === 'poll')
          throw new ApiError('badDatabase', '/action', 'no import is in progress: ingest runs the whole file')
        const { file } = fileOf({ account_id: scope.id, file_id: filename })
        if (file.database !== id || file.blob === undefined)
          throw new ApiError('badDatabase', '/filename', 'the file was not uploaded')
        const sql = (await blobs().get(file.blob))?.toString('utf8') ?? ''
        const results = await database.query(scope, id, [{ sql }], 'ARRAY_OF_OBJECTS').catch(toApiError)
        await store.batch([{ kind: SQL_FILES, scope, id: filename, value: undefined }])
        return {
          success: true,
          type: 'import',
          status: 'complete',
          at_bookmark: bookmark(clock),
          messages: [],
          result: {
            num_queries: results.length,
            final_bookmark: bookmark(clock),
            meta: total(results.map(({ meta }) => meta)),
          },
        }
      },
    }),
    endpoint({
      ...row,
      method: 'put',
      path: FILES,
      permissions: [],
      // The URL is the secret.
      open: true,
      summary: 'Upload the SQL file of an import',
      raw: { types: ['application/sql', '*/*'] },
      result: Type.Object({}),
      async handle({ params, request }) {
        const { scope, id, file } = fileOf(params)
        if (file.etag === undefined) throw new ApiError('notFound')
        const bytes = await fileBytes(request)
        const etag = createHash('md5').update(bytes).digest('hex')
        if (etag !== file.etag)
          throw new ApiError('badDatabase', undefined, `the MD5 of the file is ${etag}, not ${file.etag}`)
        await store.batch([{ kind: SQL_FILES, scope, id, value: { ...file, blob: await blobs().put(bytes) } }])
        return new ApiResponse({}, { headers: { etag: `"${etag}"` } })
      },
    }),
    endpoint({
      ...row,
      method: 'get',
      path: FILES,
      permissions: [],
      open: true,
      summary: 'Read the SQL file of an export',
      file: 'application/sql',
      async handle({ params }) {
        const { file } = fileOf(params)
        const bytes = file.etag === undefined && file.blob !== undefined ? await blobs().get(file.blob) : undefined
        if (!bytes) throw new ApiError('notFound')
        return new FileResponse('application/sql', bytes)
      },
    }),
  ]
}

function toApiError(error: unknown): never {
  if (error instanceof DataAway)
    throw new ApiError('unavailable', undefined, { message: error.message, headers: { 'retry-after': '5' } })
  throw error instanceof SqlError ? new ApiError('badDatabase', undefined, error.message) : error
}

/** Clients pass it back; databases have no history here. */
const bookmark = (clock: Clock): string => `${clock.now().toString(16).padStart(16, '0')}-00000000`

const fileUrl = (request: IncomingMessage, scope: Scope, file: string): string =>
  `${ownUrl(request)}${PREFIX}/accounts/${scope.id}/d1/files/${file}`

const COUNTS = ['duration', 'changes', 'rows_read', 'rows_written'] as const
function total(metas: readonly SqlMeta[]): Record<string, unknown> {
  const sums = COUNTS.map((name) => [name, metas.reduce((sum, meta) => sum + (meta[name] ?? 0), 0)])
  return { ...Object.fromEntries(sums), duration: metas[0]?.duration ?? 0, size_after: metas.at(-1)?.size_after ?? 0 }
}

async function fileBytes(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > MAX_IMPORT_BYTES)
      throw new ApiError('tooLarge', undefined, `an SQL file has at most ${MAX_IMPORT_BYTES} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
