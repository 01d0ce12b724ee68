import { Type } from 'typebox'
import { newId } from '../../src/core/ids.js'
import { ROUTE_PATTERNS, WORKER_ROUTES, type StoredRoute } from '../../src/core/model/worker-routing.js'
import { routePattern } from '../../src/core/route-pattern.js'
import { orNull, strict } from '../../src/core/schema.js'
import { zone as zoneScope } from '../../src/core/scope.js'
import type { Write } from '../../src/core/store.js'
import { audit } from '../resources/audit.js'
import { area } from '../http/area.js'
import { type Call } from '../http/endpoint.js'
import { mayUse, notAllowed } from '../http/auth/access.js'
import { ApiError } from '../http/errors.js'
import { NamedRepository } from '../resources/named-repository.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { routesOf } from './services/routes-of.js'
import { zoneOf } from './services/zone-of.js'

const PATH = '/workers/routes'
const MAX_ROUTES = 1000

const RouteInput = Type.Object(
  {
    pattern: Type.String({ description: 'A wildcard may begin the host and end the pattern.' }),
    script: Type.Optional(orNull(Type.String({ description: 'None: no Worker answers there.' }))),
  },
  strict,
)
const Route = Type.Object({ id: Type.String(), pattern: Type.String(), script: Type.Optional(Type.String()) })

const ScriptRoutes = Type.Array(
  Type.Object({
    pattern: Type.String(),
    zone_id: Type.Optional(Type.String()),
    zone_name: Type.Optional(Type.String()),
  }),
  { maxItems: MAX_ROUTES },
)

const rows = area({ scopes: ['zone'], access: ACCESS.routes, refusal: 'badRoute' }, (deps: WorkersDeps) => {
  const { config, store, clock, edits } = deps
  const book = new NamedRepository<StoredRoute>(deps, {
    kind: WORKER_ROUTES,
    names: ROUTE_PATTERNS,
    idOf: ({ id }) => id,
    nameOf: ({ pattern }) => pattern,
    max: MAX_ROUTES,
    notFound: 'routeNotFound',
    taken: 'duplicateRoute',
    tooMany: 'tooManyRoutes',
  })
  /** Returns the zone of a pattern. Throws if the pattern is not valid or its zone does not exist. */
  const placed = (accountId: string, text: string, named: Parameters<typeof zoneOf>[3], at: string) => {
    const pattern = routePattern(text)
    if (!pattern)
      throw new ApiError('badRoute', `${at}/pattern`, 'must be a host and a path, as in *.example.com/images/*')
    const place = { at, refusal: 'badRoute', member: 'pattern' } as const
    return zoneOf(config().zones, accountId, pattern.host, named, place)
  }
  const checked = ({ scope, accountId, body }: Call<string, { pattern: string; script?: string | null }>) => {
    const { pattern, script } = body
    placed(accountId, pattern, { zone_id: scope.id }, '')
    if (typeof script !== 'string' || script === '') return { pattern }
    scriptOf(deps, { type: 'account', id: accountId }, script)
    return { pattern, script }
  }
  return { book, edits, checked, deps, store, clock, placed }
})

/** Patterns of URLs that Workers respond to, by zone; and all patterns of one Worker. */
export const routes = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the routes of a zone',
    result: Type.Array(Route),
    handle: ({ book }, { scope }) => whole(book.all(scope)),
  }),
  rows.post(PATH, {
    summary: 'Create a route',
    body: RouteInput,
    result: Route,
    handle: async ({ edits, book, checked }, call) =>
      await edits.run(call.accountId, async () => await book.create(call, { id: newId(), ...checked(call) })),
  }),
  rows.get(`${PATH}/:route_id`, {
    summary: 'Read a route',
    result: Route,
    handle: ({ book }, { scope, params }) => book.get(scope, params.route_id),
  }),
  rows.put(`${PATH}/:route_id`, {
    summary: 'Replace a route',
    body: RouteInput,
    result: Route,
    async handle({ edits, book, checked }, call) {
      const id = call.params.route_id
      return await edits.run(call.accountId, async () => {
        book.get(call.scope, id)
        const value = checked(call)
        return await book.change(call, id, () => ({ id, ...value }))
      })
    },
  }),
  rows.delete(`${PATH}/:route_id`, {
    summary: 'Delete a route',
    result: Type.Object({ id: Type.String() }),
    async handle({ book }, call) {
      const { route_id: id } = call.params
      await book.remove(call, id)
      return { id }
    },
  }),
  rows.put('/workers/scripts/:script_name/routes', {
    scopes: ['account'],
    permissions: ACCESS.workers.write,
    summary: 'Replace all routes of a Worker',
    body: ScriptRoutes,
    maxBytes: 1_000_000,
    result: Type.Array(Route),
    async handle({ deps, store, clock, edits, book, placed }, call) {
      const { scope, body, params, caller } = call
      const script = params.script_name
      return await edits.run(scope.id, async () => {
        scriptOf(deps, scope, script)
        const places = body.map((route, at) => ({ route, zone: placed(scope.id, route.pattern, route, `/${at}`) }))
        for (const { zone } of places)
          if (!mayUse(caller, ACCESS.routes.write, { account: scope.id, zone: zone.id }))
            throw notAllowed(ACCESS.routes.write)
        const kept = new Map<string, StoredRoute>()
        const writes: Write[] = []
        const before = routesOf(deps, scope, script)
        for (const [at, { route, zone }] of places.entries()) {
          const where = zoneScope(zone.id)
          const known = book.named(where, route.pattern)
          if (known && known.script !== undefined && known.script !== script)
            throw new ApiError('duplicateRoute', `/${at}/pattern`, `the route belongs to the Worker ${known.script}`)
          const key = `${zone.id} ${route.pattern}`
          if (kept.has(key)) throw new ApiError('badRoute', `/${at}/pattern`, 'is given twice')
          const value: StoredRoute = { id: known?.id ?? newId(), pattern: route.pattern, script }
          kept.set(key, value)
          if (known?.script === script) continue
          writes.push({ kind: WORKER_ROUTES, scope: where, id: value.id, value })
          if (!known)
            writes.push({
              kind: ROUTE_PATTERNS,
              scope: where,
              id: value.pattern,
              value: { id: value.id },
              ifVersion: 0,
            })
        }
        for (const { zone, route } of before)
          if (!kept.has(`${zone.id} ${route.pattern}`)) writes.push(...book.removal(zone, route))
        const after = [...kept.values()]
        const routes = before.map(({ route }) => route)
        await store.batch(writes, [
          audit(clock, call, { action: 'update', kind: WORKER_ROUTES, scope, id: script, before: routes, after }),
        ])
        return after
      })
    },
  }),
])
