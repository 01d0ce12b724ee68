import { Type, type Static } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { HYPERDRIVE_NAMES, HYPERDRIVES, type StoredHyperdrive } from '../../src/core/model/hyperdrive.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { secretOf, type Vault } from '../../src/core/vault.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { page, paging } from '../http/paging.js'
import type { Actor } from '../resources/audit.js'
import { NamedRepository } from '../resources/named-repository.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/hyperdrive/configs'
const CONFIG = `${PATH}/:hyperdrive_id` as const
const MAX_CONFIGS = 100
const PORTS: Readonly<Record<string, number>> = { postgres: 5432, postgresql: 5432, mysql: 3306 }

const text = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })
const members = {
  scheme: Type.Enum(['postgres', 'postgresql', 'mysql']),
  host: Type.String({
    minLength: 1,
    maxLength: 253,
    pattern: '^[^\\s/:@]+$',
    'x-message': 'must be a host name or an IPv4 address',
    description: 'Public, or allowed by `egress.allow_cidrs`.',
  }),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: 'Default: that of the scheme.' })),
  database: text('Name of the database.'),
  user: text('User of the database.'),
  password: Type.String({ minLength: 1, maxLength: 4096, description: 'Never returned.' }),
}
const Origin = Type.Object(members, strict)
const Caching = Type.Object(
  {
    disabled: Type.Optional(Type.Boolean()),
    max_age: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
    stale_while_revalidate: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
  },
  { ...strict, description: 'Stored without effect: query results are not cached.' },
)
const name = text('Unique name.')
const limit = Type.Optional(Type.Integer({ minimum: 5, maximum: 100, description: 'Stored without effect.' }))
const caching = Type.Optional(Caching)
const NewConfig = Type.Object({ name, origin: Origin, caching, origin_connection_limit: limit }, strict)
const ConfigEdit = Type.Object(
  {
    name: Type.Optional(name),
    origin: Type.Optional(Type.Partial(Origin, strict)),
    caching,
    origin_connection_limit: limit,
  },
  strict,
)

const ConfigResponse = Type.Object({
  id: Type.String(),
  name: Type.String(),
  origin: Type.Object({
    scheme: Type.String(),
    host: Type.String(),
    port: Type.Integer(),
    database: Type.String(),
    user: Type.String(),
  }),
  caching: Type.Object({}),
  origin_connection_limit: Type.Integer(),
  created_on: Type.String(),
  modified_on: Type.String(),
})

const shown = ({ password: _password, ...config }: StoredHyperdrive): Static<typeof ConfigResponse> => config

/** Returns a whole configuration. */
const withDefaults = ({ origin, ...rest }: Static<typeof NewConfig>) => ({
  caching: {},
  origin_connection_limit: 60,
  ...rest,
  origin: { ...origin, port: origin.port ?? PORTS[origin.scheme]! },
})

/** Returns the operations on the stored connections. */
function operations({ vault, ...deps }: HyperdriveDeps) {
  const configs = new NamedRepository<StoredHyperdrive>(deps, {
    kind: HYPERDRIVES,
    names: HYPERDRIVE_NAMES,
    idOf: ({ id }) => id,
    nameOf: (config) => config.name,
    max: MAX_CONFIGS,
    notFound: 'hyperdriveNotFound',
    taken: 'hyperdriveExists',
    tooMany: 'tooManyHyperdrives',
  })
  const seal = (scope: Scope, id: string, password: string) => ({
    sealed: vault().seal(password, secretOf(HYPERDRIVES, scope, id)),
  })
  const now = () => new Date(deps.clock.now()).toISOString()
  const change = async (call: Actor, id: string, body: Static<typeof ConfigEdit>) => {
    const { origin: { password, ...origin } = {}, ...rest } = body
    return shown(
      await configs.change(call, id, (old) => ({
        ...old,
        ...rest,
        origin: { ...old.origin, ...origin },
        ...(password !== undefined && { password: seal(call.scope, id, password) }),
        modified_on: now(),
      })),
    )
  }
  const create = async (call: Actor, body: Static<typeof NewConfig>) => {
    const { origin, ...rest } = withDefaults(body)
    const { password, ...target } = origin
    const id = newId()
    const sealed = seal(call.scope, id, password)
    const times = { created_on: now(), modified_on: now() }
    return shown(await configs.create(call, { id, ...rest, origin: target, password: sealed, ...times }))
  }
  const replace = async (call: Actor, id: string, body: Static<typeof NewConfig>) =>
    await change(call, id, withDefaults(body))
  return { configs, create, change, replace }
}

type HyperdriveDeps = ControlDeps & { readonly vault: () => Vault }

const rows = area(
  { scopes: ACCOUNT_ONLY, access: ACCESS.hyperdrive, refusal: 'badHyperdrive' },
  (deps: HyperdriveDeps) => {
    const { configs, create, change, replace } = operations(deps)
    return { configs, create, replace, change }
  },
)

/** Databases that Workers connect to through a binding. Passwords are encrypted, and never returned. */
export const hyperdrive = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the databases that Workers connect to',
    query: Type.Object(paging({ max: 1000 })),
    result: Type.Array(ConfigResponse),
    handle: ({ configs }, { scope, query }) => page(configs.all(scope), query, shown),
  }),
  rows.post(PATH, {
    jsonAs: ['text/plain'],
    summary: 'Create a connection to a database',
    body: NewConfig,
    result: ConfigResponse,
    handle: async ({ create }, call) => await create(call, call.body),
  }),
  rows.get(CONFIG, {
    summary: 'Read a connection to a database, without its password',
    result: ConfigResponse,
    handle: ({ configs }, { scope, params }) => shown(configs.get(scope, params.hyperdrive_id)),
  }),
  rows.put(CONFIG, {
    jsonAs: ['text/plain'],
    summary: 'Replace a connection to a database',
    body: NewConfig,
    result: ConfigResponse,
    handle: async ({ replace }, call) => await replace(call, call.params.hyperdrive_id, call.body),
  }),
  rows.patch(CONFIG, {
    jsonAs: ['text/plain'],
    summary: 'Change a connection to a database; what is left out stays',
    body: ConfigEdit,
    result: ConfigResponse,
    handle: async ({ change }, call) => await change(call, call.params.hyperdrive_id, call.body),
  }),
  rows.delete(CONFIG, {
    jsonAs: ['text/plain'],
    summary: 'Delete a connection to a database',
    bare: true,
    handle: async ({ configs }, call) => await configs.remove(call, call.params.hyperdrive_id),
  }),
])
