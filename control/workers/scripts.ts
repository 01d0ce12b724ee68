import { Type } from 'typebox'
import { WORKER_NAMESPACES, WORKER_SCRIPTS, type StoredScript } from '../../src/core/model/worker.js'
import type { Scope } from '../../src/core/scope.js'
import { scriptResult } from '../../src/workers/script-summary.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging, whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { referencesTo } from './services/references.js'
import { Force, removeScript } from './services/removal.js'
import { ScriptResult } from './schemas.js'

const Found = Type.Object({})

const rows = area({ scopes, access: ACCESS.workers }, (deps: WorkersDeps) => {
  const { store } = deps
  const all = (scope: Scope) => store.list(WORKER_SCRIPTS, scope).map(({ value }) => value)
  const versionOf = (scope: Scope, script: StoredScript) => {
    const { repository } = deps.workers()
    return repository.readVersion(scope, script, 'deployed') ?? repository.readVersion(scope, script, 'latest')
  }
  const shown = (scope: Scope, script: StoredScript) => {
    const version = versionOf(scope, script)
    return version ? [scriptResult(script, version) as never] : []
  }
  return { all, shown, deps, store }
})

/** Scripts as such, in the several shapes that clients know them in. */
export const scripts = rows.endpoints([
  rows.get('/workers/scripts', {
    summary: 'List the scripts of an account',
    query: Type.Object({
      tags: Type.Optional(Type.String({ description: 'As in `production:yes,old:no`.' })),
    }),
    result: Type.Array(ScriptResult),
    handle: ({ all, shown }, { scope, query }) =>
      whole(
        all(scope)
          .filter(tagFilter(query.tags))
          .flatMap((script) => shown(scope, script)),
      ),
  }),
  rows.get('/workers/scripts-search', {
    summary: 'Search the scripts of an account',
    query: Type.Object({
      ...paging({ max: 100 }),
      name: Type.Optional(Type.String({ description: 'Part of the name.' })),
      id: Type.Optional(Type.String({ description: 'The id that never changes.' })),
      order_by: Type.Enum(['name', 'created_on', 'modified_on'], { default: 'name' }),
    }),
    result: Type.Array(Type.Object({})),
    handle({ all }, { scope, query }) {
      const { name = '', id, order_by } = query
      const found = all(scope).filter((script) => script.name.includes(name) && (id === undefined || script.tag === id))
      found.sort((a, b) => (a[order_by] < b[order_by] ? -1 : 1))
      return page(found, query, (script) => ({
        id: script.tag,
        script_name: script.name,
        created_on: script.created_on,
        modified_on: script.modified_on,
      }))
    },
  }),
  rows.delete('/workers/scripts/:script_name', {
    summary: 'Delete a script with all of its versions, Durable Objects, routes and domains',
    query: Force,
    result: Type.Null(),
    handle: async ({ deps }, call) => await removeScript(deps, call, call.params.script_name),
  }),
  rows.delete('/workers/services/:script_name', {
    summary: 'Delete a script with all that belongs to it',
    query: Force,
    result: Type.Null(),
    handle: async ({ deps }, call) => await removeScript(deps, call, call.params.script_name, 'serviceNotFound'),
  }),
  rows.get('/workers/services/:script_name', {
    summary: 'Read a script as a service with one environment',
    result: Found,
    handle({ deps, shown }, { scope, params }) {
      const { value } = scriptOf(deps, scope, params.script_name, 'serviceNotFound')
      const environment = environmentOf(value, shown(scope, value)[0] ?? {})
      const { created_on, modified_on } = value
      return {
        id: value.name,
        created_on,
        modified_on,
        default_environment: environment,
        environments: [environment],
      }
    },
  }),
  rows.get('/workers/services/:script_name/environments/:environment', {
    summary: 'Read the environment of a service',
    result: Found,
    handle({ deps, shown }, { scope, params }) {
      const { value } = scriptOf(deps, scope, params.script_name, 'serviceNotFound')
      if (params.environment !== ENVIRONMENT) throw new ApiError('serviceNotFound')
      return environmentOf(value, shown(scope, value)[0] ?? {})
    },
  }),
  rows.get('/workers/scripts/:script_name/references', {
    summary: 'List the scripts that use a script',
    result: Found,
    handle({ deps }, { scope, params }) {
      scriptOf(deps, scope, params.script_name)
      const { services, durable_objects } = referencesTo(deps, scope, params.script_name)
      return {
        services: { incoming: services.map(service), outgoing: [], pages_function: false },
        durable_objects: durable_objects.map((one) => ({
          ...service(one.script),
          durable_object_namespace_id: one.namespace_id,
          durable_object_namespace_name: `${params.script_name}_${one.class}`,
        })),
        dispatch_outbounds: [],
      }
    },
  }),
  rows.get('/workers/tails/by-consumer/:script_name', {
    summary: 'List the scripts that send their traces to a script',
    result: Type.Array(Found),
    handle: ({ deps }, { scope, params }) => {
      const { tails } = referencesTo(deps, scope, params.script_name)
      return whole(
        tails.map((producer) => ({
          consumer: service(params.script_name),
          producer: { script_name: producer, ...service(producer) },
          log_push: false,
        })),
      )
    },
  }),
  rows.get('/workers/durable_objects/namespaces', {
    summary: 'List the namespaces of Durable Objects',
    query: Type.Object(paging({ max: 1000 })),
    result: Type.Array(Found),
    handle: ({ store }, { scope, query }) =>
      page(store.list(WORKER_NAMESPACES, scope), query, ({ value }) => ({
        id: value.id,
        name: `${value.script}_${value.class}`,
        script: value.script,
        class: value.class,
        use_sqlite: value.use_sqlite,
      })),
  }),
  rows.get('/workers/durable_objects/namespaces/:namespace_id/objects', {
    summary: 'List the Durable Objects of a namespace whose data this machine has',
    query: Type.Object({
      cursor: Type.Optional(Type.String({ maxLength: 64, description: 'From `result_info` of the page before.' })),
      limit: Type.Integer({ minimum: 1, maximum: 10_000, default: 1000 }),
    }),
    result: Type.Array(Type.Object({ id: Type.String(), hasStoredData: Type.Literal(true) })),
    async handle({ deps, store }, { scope, params, query: { cursor = '', limit } }) {
      const { namespace_id: id } = params
      const known = store.list(WORKER_NAMESPACES, scope).some(({ value }) => value.id === id)
      if (!known) throw new ApiError('objectNamespaceNotFound')
      const all = (await deps.workers().objectIds?.(scope, id)) ?? []
      const rest = all.filter((one) => one > cursor)
      const found = rest.slice(0, limit)
      const after = rest.length > limit ? found.at(-1) : undefined
      return new ApiResponse(
        found.map((one) => ({ id: one, hasStoredData: true as const })),
        { result_info: { count: found.length, per_page: limit, cursor: after ?? '', cursors: after ? { after } : {} } },
      )
    },
  }),
])

const ENVIRONMENT = 'production'
const service = (script: string) => ({ service: script, name: script, environment: ENVIRONMENT })

const environmentOf = (
  { name, created_on, modified_on, last_deployed_from, tag, tags }: StoredScript,
  script: object,
) => ({
  environment: ENVIRONMENT,
  script_id: name,
  script_tag: tag,
  created_on,
  modified_on,
  // What clients look for in a Worker that has no version yet, too.
  script: {
    id: name,
    tag,
    tags,
    handlers: [],
    ...script,
    ...(last_deployed_from !== undefined && { last_deployed_from }),
  },
})

/** `production:yes,old:no`: those that have the first tag and not the second. */
function tagFilter(filter = ''): (script: StoredScript) => boolean {
  const wanted = filter.split(',').filter((part) => part !== '')
  const pairs = wanted.map((part) => {
    const [, tag, word] = /^(.+):(yes|no)$/.exec(part.trim()) ?? []
    if (tag === undefined) throw new ApiError('badQuery', '/tags', 'must be tags with :yes or :no, parted by commas')
    return { tag, has: word === 'yes' }
  })
  return ({ tags }) => pairs.every(({ tag, has }) => tags.includes(tag) === has)
}
