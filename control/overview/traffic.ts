import { Type, type Static } from 'typebox'
import { mayUse } from '../http/auth/access.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import type { Scope } from '../../src/core/scope.js'
import type { OverviewDeps, TrafficPoint, ZoneTraffic } from './services.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const Totals = {
  requests: count('Finished requests.'),
  client_errors: count('Responses with status 4xx.'),
  server_errors: count('Responses with status 5xx.'),
  markdown: count('Responses in Markdown.'),
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
          up: Type.Boolean(),
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

const NONE: ZoneTraffic = { requests: 0, clientErrors: 0, serverErrors: 0, markdown: 0, cacheHits: 0, bytes: 0 }

/** Requests, errors, Markdown and cache hits by zone, and the state of origins. */
export function traffic({ config, overview }: OverviewDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/edged/overview',
      scopes: ['account', 'zone'],
      permissions: ['Zone Read'],
      summary: 'Read the traffic of the zones since the start of the daemon and of the last hour, and their origins',
      result: Overview,
      async handle({ scope, caller }): Promise<Static<typeof Overview>> {
        const services = overview()
        const { traffic, startedAt, version } = services
        const visible = config().zones.filter(
          (zone) => isIn(scope, zone) && mayUse(caller, [], { account: zone.account, zone: zone.id }),
        )
        const now = await traffic.now()
        const states = new Map(services.zones().map(({ id, origins }) => [id, origins]))
        return {
          version,
          started_at: new Date(startedAt).toISOString(),
          zones: visible.map(({ id, name }) => ({
            id,
            name,
            ...shown(now.zones.get(name) ?? NONE),
            origins: [...(states.get(id) ?? [])],
          })),
          points: [...traffic.points, now].map((point) => ({
            at: new Date(point.at).toISOString(),
            ...shown(sum(point, visible)),
          })),
        }
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

const sum = ({ zones }: TrafficPoint, visible: readonly { readonly name: string }[]): ZoneTraffic =>
  visible.reduce((total, { name }) => {
    const one = zones.get(name)
    if (!one) return total
    return {
      requests: total.requests + one.requests,
      clientErrors: total.clientErrors + one.clientErrors,
      serverErrors: total.serverErrors + one.serverErrors,
      markdown: total.markdown + one.markdown,
      cacheHits: total.cacheHits + one.cacheHits,
      bytes: total.bytes + one.bytes,
    }
  }, NONE)
