import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Type, type Static } from 'typebox'
import type { Blobs } from '../../src/core/blobs.js'
import type { Clock } from '../../src/core/clock.js'
import { account, type Scope } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { strict } from '../../src/core/schema.js'
import type { SqlMeta } from '../../src/workers/runtime/databases.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, FileResponse, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { PREFIX } from '../http/prefix.js'
import { ownUrl } from '../http/websocket-url.js'
import { DATABASE, opened, toApiError, type QueryDeps } from './d1-query.js'

const FILES = '/d1/files/:file_id'
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

export interface SqlFileDeps extends QueryDeps {
  readonly store: Store
  readonly clock: Clock
  readonly blobs: () => Blobs
}

type FileCall = Pick<Call, 'params' | 'request'>

const result = Type.Object({})

const rows = area<SqlFileDeps>({ scopes, access: ACCESS.d1, refusal: 'badDatabase' })

/** Exports and imports of databases, by files whose URLs are secrets. */
export const d1Files = rows.endpoints([
  rows.post(`${DATABASE}/export`, {
    permissions: ACCESS.d1.read,
    summary: 'Write a database as SQL to a file; its URL is valid for an hour',
    body: Export,
    result,
    handle: async (deps, call) => await exportDatabase(deps, call),
  }),
  rows.post(`${DATABASE}/import`, {
    summary: 'Run an SQL file in one transaction: init returns the URL to upload it to, ingest runs it',
    body: Import,
    result,
    handle: async (deps, call) => await importFile(deps, call),
  }),
  rows.put(FILES, {
    permissions: [],
    open: true,
    summary: 'Upload the SQL file of an import',
    raw: { types: ['application/sql', '*/*'] },
    result,
    handle: async (deps, call) => await upload(deps, call),
  }),
  rows.get(FILES, {
    permissions: [],
    open: true,
    summary: 'Read the SQL file of an export',
    file: 'application/sql',
    handle: async (deps, call) => await download(deps, call),
  }),
])

async function exportDatabase(
  deps: SqlFileDeps,
  { scope, params, body, request }: Call<'database_id', Static<typeof Export>>,
) {
  const { clock, blobs } = deps
  const id = params.database_id
  const { no_schema: noSchema = false, no_data: noData = false, tables = [] } = body.dump_options ?? {}
  const sql = await opened(deps, scope, id).dump(scope, id, { noSchema, noData, tables }).catch(toApiError)
  const blob = await blobs().put(Buffer.from(sql))
  const file = await create(deps, scope, { database: id, created: clock.now(), blob })
  return {
    success: true,
    type: 'export',
    status: 'complete',
    at_bookmark: bookmark(clock),
    messages: [],
    result: { filename: `${id}.sql`, signed_url: urlOf(request, scope, file) },
  }
}

async function importFile(deps: SqlFileDeps, call: Call<'database_id', Static<typeof Import>>) {
  const { action, etag } = call.body
  if (action === 'ingest') return await ingest(deps, call)
  const { scope, params, request } = call
  const id = params.database_id
  opened(deps, scope, id)
  if (action === 'poll')
    throw new ApiError('badDatabase', '/action', 'no import is in progress: ingest runs the whole file')
  if (etag === undefined) throw new ApiError('badDatabase', '/etag', 'is required')
  const file = await create(deps, scope, { database: id, created: deps.clock.now(), etag: etag.toLowerCase() })
  return { success: true, type: 'import', filename: file, upload_url: urlOf(request, scope, file) }
}

async function ingest(deps: SqlFileDeps, { scope, params, body }: Call<'database_id', Static<typeof Import>>) {
  const { store, clock, blobs } = deps
  const id = params.database_id
  const { filename = '' } = body
  const database = opened(deps, scope, id)
  const file = find(deps, scope, filename)
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
}

async function upload(deps: SqlFileDeps, { params, request }: FileCall) {
  const { store, blobs } = deps
  const { scope, id } = placeOf(params)
  const file = find(deps, scope, id)
  if (file.etag === undefined) throw new ApiError('notFound')
  const bytes = await fileBytes(request)
  const etag = createHash('md5').update(bytes).digest('hex')
  if (etag !== file.etag)
    throw new ApiError('badDatabase', undefined, `the MD5 of the file is ${etag}, not ${file.etag}`)
  const value = { ...file, blob: await blobs().put(bytes) }
  await store.batch([{ kind: SQL_FILES, scope, id, value }])
  return new ApiResponse({}, { headers: { etag: `"${etag}"` } })
}

async function download(deps: SqlFileDeps, { params }: FileCall) {
  const { scope, id } = placeOf(params)
  const file = find(deps, scope, id)
  const bytes = file.etag === undefined && file.blob !== undefined ? await deps.blobs().get(file.blob) : undefined
  if (!bytes) throw new ApiError('notFound')
  return new FileResponse('application/sql', bytes)
}

/** The file that a URL names. */
const placeOf = ({ account_id: owner = '', file_id: id = '' }: Call['params']) => ({ scope: account(owner), id })

/** Stores a file and removes those whose time is over. Returns the id. */
async function create({ store, clock }: SqlFileDeps, scope: Scope, value: SqlFile): Promise<string> {
  const oldest = clock.now() - FILE_LIFETIME_MS
  const over = store.list(SQL_FILES, scope).filter(({ value: { created } }) => created < oldest)
  const id = randomBytes(32).toString('hex')
  await store.batch([
    { kind: SQL_FILES, scope, id, value, ifVersion: 0 },
    ...over.map((one) => ({ kind: SQL_FILES, scope, id: one.id, value: undefined })),
  ])
  return id
}

/** Returns a file. Throws if its time is over. */
function find({ store, clock }: SqlFileDeps, scope: Scope, id: string): SqlFile {
  const found = store.get(SQL_FILES, scope, id)?.value
  if (!found || found.created < clock.now() - FILE_LIFETIME_MS) throw new ApiError('notFound')
  return found
}

/** Returns a bookmark for clients that expect one. Databases have no history here. */
const bookmark = (clock: Clock): string => `${clock.now().toString(16).padStart(16, '0')}-00000000`

const urlOf = (request: IncomingMessage, scope: Scope, file: string): string =>
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
