import { Type, type Static } from 'typebox'
import type { Blobs } from '../../src/core/blobs.js'
import { newUuid } from '../../src/core/ids.js'
import { D1_DATABASES, D1_NAMES, type StoredDatabase } from '../../src/core/model/storage.js'
import { orNull, strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Databases } from '../../src/workers/runtime/databases.js'
import { d1Files } from './d1-files.js'
import { d1Queries } from './d1-query.js'
import { area } from '../http/area.js'
import { NamedRepository } from '../resources/named-repository.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/d1/database'

const Replication = Type.Object({ mode: Type.Enum(['auto', 'disabled']) }, strict)
const name = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[^\\s/]+$',
  'x-message': 'must be a name without spaces',
})

const NewDatabase = Type.Object(
  {
    name,
    jurisdiction: Type.Optional(Type.Enum(['eu', 'fedramp', 'us'])),
    primary_location_hint: Type.Optional(Type.Enum(['wnam', 'enam', 'weur', 'eeur', 'apac', 'oc'])),
    read_replication: Type.Optional(Replication),
  },
  strict,
)
const DatabaseChange = Type.Object({ read_replication: Replication }, strict)
const DatabaseEdit = Type.Partial(DatabaseChange, strict)

const Database = Type.Object({
  uuid: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  version: Type.String(),
  num_tables: Type.Integer(),
  file_size: Type.Integer({ description: 'Bytes.' }),
  jurisdiction: orNull(Type.String()),
  read_replication: Type.Object({ mode: Type.String() }),
})

const rows = area(
  { scopes: ['account'], access: ACCESS.d1, refusal: 'badDatabase' },
  (deps: ControlDeps & { readonly blobs: () => Blobs; readonly databases: () => Databases | undefined }) => {
    const databases = new NamedRepository<StoredDatabase>(deps, {
      kind: D1_DATABASES,
      names: D1_NAMES,
      idOf: ({ uuid }) => uuid,
      nameOf: (database) => database.name,
      max: 50_000,
      notFound: 'databaseNotFound',
      taken: 'databaseExists',
      tooMany: 'tooManyDatabases',
    })
    const { store, clock, blobs } = deps
    const assertDatabase = (scope: Scope, id: string): void => void databases.get(scope, id)
    return { deps, store, clock, blobs, assertDatabase, databases }
  },
)

/** Databases. Workers see the same ones. */
export const d1 = rows.endpoints([
  ({ deps, assertDatabase }) => d1Queries({ databases: deps.databases, assertDatabase }),
  ({ deps, store, clock, blobs, assertDatabase }) =>
    d1Files({ store, clock, blobs, databases: deps.databases, assertDatabase }),
  rows.get(PATH, {
    summary: 'List the databases of an account',
    query: Type.Object({ ...paging({ max: 10_000, usual: 1000 }), name: Type.Optional(Type.String()) }),
    result: Type.Array(Database),
    handle({ databases }, { scope, query }) {
      const wanted = databases.all(scope).filter((one) => one.name.includes(query.name ?? ''))
      return page(wanted, query, shown)
    },
  }),
  rows.post(PATH, {
    summary: 'Create a database',
    body: NewDatabase,
    result: Database,
    async handle({ deps, databases }, call) {
      const { read_replication, ...body } = call.body
      const created_at = new Date(deps.clock.now()).toISOString()
      const mode = read_replication?.mode ?? 'disabled'
      return shown(await databases.create(call, { uuid: newUuid(), created_at, read_replication: mode, ...body }))
    },
  }),
  rows.get(`${PATH}/:database_id`, {
    summary: 'Read a database',
    result: Database,
    handle: ({ databases }, { scope, params }) => shown(databases.get(scope, params.database_id)),
  }),
  ...(['put', 'patch'] as const).map((method) =>
    rows[method](`${PATH}/:database_id`, {
      summary: 'Change how a database is replicated',
      body: method === 'put' ? DatabaseChange : DatabaseEdit,
      result: Database,
      async handle({ databases }, call) {
        const { read_replication } = call.body as Static<typeof DatabaseEdit>
        return shown(
          await databases.change(call, call.params.database_id, (old) => ({
            ...old,
            ...(read_replication && { read_replication: read_replication.mode }),
          })),
        )
      },
    }),
  ),
  rows.delete(`${PATH}/:database_id`, {
    summary: 'Delete a database',
    result: Type.Null(),
    async handle({ databases }, call) {
      await databases.remove(call, call.params.database_id)
      return null
    },
  }),
])

const shown = ({
  uuid,
  name,
  created_at,
  jurisdiction,
  read_replication,
}: StoredDatabase): Static<typeof Database> => ({
  uuid,
  name,
  created_at,
  version: 'production',
  num_tables: 0,
  file_size: 0,
  jurisdiction: jurisdiction ?? null,
  read_replication: { mode: read_replication },
})
