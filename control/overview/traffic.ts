import { Type, type Static } from 'typebox'
import { mayUse } from '../http/auth/access.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import type { Scope } from '../../src/core/scope.js'
import { EventLoopYield, inSlices, type Pause } from '../../src/core/schedule/event-loop-yield.js'
import type { OriginState, OverviewDeps, TrafficPoint, ZoneTraffic } from './services.js'

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

const count = (description: string) => Type.Integer({ minimum: 0, description })

const Totals = {
  requests: count('Finished requests.'),
  client_errors: count('Responses with status 4xx.'),
  server_errors: count('Responses with status 5xx.'),
  markdown: count('Responses in Markdown, without errors.'),
  cache_hits: count('Responses from the cache.'),
  bytes: count('Body bytes sent to clients.'),
}

const Overview = Type.Object({
  version: Type.String(),
  started_at: Type.String({ description: 'Start of the daemon; counts begin there.' }),
  zones: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      ...Totals,
      origins: Type.Array(
        Type.Object({
          url: Type.String(),
          state: Type.Enum(['up', 'down', 'unknown', 'missing'], {
            description:
              'As the last results of requests and health checks say. unknown: there is none yet. missing: the zone has no origin, ' +
              'the URL is empty.',
          }),
          up: Type.Union([Type.Boolean(), Type.Null()], {
            description: 'Null if the state is neither up nor down.',
          }),
          since: Type.Union([Type.String(), Type.Null()], {
            description: 'When it got that state. Null if the state is neither up nor down.',
          }),
          last_error: Type.Union([Type.String(), Type.Null()], {
            description: 'The failure of the last result. Null if it was none.',
          }),
          checked_at: Type.Union([Type.String(), Type.Null()], { description: 'Time of the last result.' }),
          backup: Type.Boolean(),
          weight: Type.Number(),
          requests_in_flight: count('Requests at the origin.'),
        }),
      ),
    }),
  ),
  points: Type.Array(
    Type.Object({
      at: Type.String(),
      ...Totals,
    }),
    { description: 'Totals of these zones about every 15 s, for the last hour.' },
  ),
})

const COUNTS = ['requests', 'clientErrors', 'serverErrors', 'markdown', 'cacheHits', 'bytes'] as const
const NONE: ZoneTraffic = { requests: 0, clientErrors: 0, serverErrors: 0, markdown: 0, cacheHits: 0, bytes: 0 }

/** Requests, errors, Markdown and cache hits by zone, and the state of origins. */
export function traffic({ config, overview }: OverviewDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/edged/overview',
      scopes: ['account', 'zone'],
      permissions: ACCESS.zones.read,
      summary: 'Read the traffic of the zones since the start of the daemon and of the last hour, and their origins',
      result: Overview,
      async handle({ scope, caller }): Promise<Static<typeof Overview>> {
        const services = overview()
        const { traffic, startedAt, version } = services
        const visible = config().zones.filter(
          (zone) => isIn(scope, zone) && mayUse(caller, [], { account: zone.account, zone: zone.id }),
        )
        const now = await traffic.now()
        const states = new Map<string, readonly OriginState[]>()
        for await (const slice of inSlices(services.zones(), pause))
          for (const { id, origins } of slice) states.set(id, origins)
        const zones: Static<typeof Overview>['zones'] = []
        for await (const slice of inSlices(visible, pause))
          for (const { id, name } of slice)
            zones.push({ id, name, ...shown(now.zones.get(name) ?? NONE), origins: [...(states.get(id) ?? [])] })
        const names = new Set(visible.map(({ name }) => name))
        const points: Static<typeof Overview>['points'] = []
        for (const point of [...traffic.points, now]) {
          await pause()
          points.push({ at: new Date(point.at).toISOString(), ...shown(sum(point, names)) })
        }
        return { version, started_at: new Date(startedAt).toISOString(), zones, points }
      },
    }),
  ]
}

const isIn = (scope: Scope, zone: { readonly id: string; readonly account: string }): boolean =>
  scope.type === 'zone' ? zone.id === scope.id : zone.account === scope.id

const shown = ({ requests, clientErrors, serverErrors, markdown, cacheHits, bytes }: ZoneTraffic) => ({
  requests,
  client_errors: clientErrors,
  server_errors: serverErrors,
  markdown,
  cache_hits: cacheHits,
  bytes,
})

function sum({ zones }: TrafficPoint, visible: ReadonlySet<string>): ZoneTraffic {
  const total = { ...NONE }
  for (const [name, one] of zones) if (visible.has(name)) for (const count of COUNTS) total[count] += one[count]
  return total
}
