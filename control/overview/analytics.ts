import { Type, type Static } from 'typebox'
import { EventLoopYield } from '../../src/core/schedule/event-loop-yield.js'
import { accountScope } from '../../src/history/history.js'
import { DIMENSION_NAMES, SEPARATOR, type DimensionName } from '../../src/history/layout.js'
import { areCountedTogether, MAX_POINTS, type Filter, type Group, type Point } from '../../src/history/query.js'
import { mayUse } from '../http/auth/access.js'
import { area } from '../http/area.js'
import type { Call } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { badQuery, HistoryRange, rangeOf } from './history-range.js'
import type { OverviewDeps } from './services.js'
import { Totals, totalsOf } from './totals.js'

const MAX_GROUPS = 100
/** Requests can be grouped by these properties. */
const DIMENSIONS = DIMENSION_NAMES.filter((name) => name !== 'charge')

const Points = Type.Array(Type.Object({ at: Type.String(), ...Totals.properties }))

const Analytics = Type.Object({
  since: Type.String({ description: 'Beginning of the first point.' }),
  until: Type.String(),
  step_seconds: Type.Integer({ description: 'Length of a point.' }),
  partial_from: Type.Union([Type.String(), Type.Null()], {
    description: 'Beginning of the point that is not over yet. Null if all are.',
  }),
  machines: Type.Enum(['this', 'all'], {
    description: 'Whether the counts are of this machine or of all machines with the same store.',
  }),
  totals: Totals,
  points: Points,
  groups: Type.Array(Type.Object({ key: Type.String(), name: Type.String(), ...Totals.properties, points: Points }), {
    description:
      'Values of `by`, those with the most requests first. Requests without a value, as those without an agent, are in no group. A request is in the group of each rule that acted on it. Groups after 4000 points have none.',
  }),
  other: Type.Object(Totals.properties, { description: 'All other values of `by` together.' }),
  coverage: Type.Array(Type.Object({ from: Type.String(), to: Type.String() }), {
    description: 'Times in which edged ran and counted.',
  }),
})

const AnalyticsQuery = Type.Object({
  ...HistoryRange,
  step: Type.Optional(
    Type.Integer({
      minimum: 10,
      maximum: 86_400 * 400,
      description:
        'Length of a point in seconds. Default: 10 up to one hour, 300 up to a day, 3600 up to a week, 21600 up to 75 days, then days. A longer one is chosen where only longer periods are kept.',
    }),
  ),
  by: Type.Optional(Type.Enum(DIMENSIONS, { description: 'Property by which the requests are grouped.' })),
  limit: Type.Integer({ minimum: 1, maximum: MAX_GROUPS, default: 10, description: 'Groups.' }),
  filter: Type.Optional(
    Type.String({
      maxLength: 1024,
      description:
        'Only requests with one value, as in `agent:GPTBot` or `status:404`. Together with `by` of the same name, or `by=path` with an agent.',
    }),
  ),
})

const rows = area<OverviewDeps>({ scopes: ['account', 'zone'], access: { read: ACCESS.zones.read, write: [] } })

/** The counts of requests over time. */
export const analytics = rows.endpoints([
  rows.get('/edged/analytics', {
    summary: 'Read the counts of requests over time, in total and by status, cache, agent, origin, path and more',
    query: AnalyticsQuery,
    result: Analytics,
    async handle(deps, call): Promise<Static<typeof Analytics>> {
      const { query, scope } = call
      const { history } = deps.overview()
      const now = deps.clock.now()
      const range = rangeOf(query, now)
      const { by, step, limit } = query
      const filter = filterOf(query.filter, by)
      if (by === 'zone' && scope.type === 'zone') throw badQuery('by', 'must not be zone here: this is one zone')
      if (step !== undefined && (range.until - range.since) / (step * 1000) > MAX_POINTS)
        throw badQuery('step', `must be longer: there would be more than ${MAX_POINTS} points`)
      const scopes = scopesOf(deps, call)
      const found = await history.read({ ...range, scopes, by, filter, limit, step: step && step * 1000 })
      const end = found.points.at(-1)
      const names = new Map(deps.config().zones.map(({ id, name }) => [id, name]))
      const groups: Static<typeof Analytics>['groups'] = []
      for (const group of found.groups) groups.push(await shownGroup(group, by!, names))
      return {
        since: iso(found.since),
        until: iso(found.until),
        step_seconds: found.step / 1000,
        partial_from: end && end.at + found.step > now ? iso(end.at) : null,
        machines: history.machines,
        totals: totalsOf(found.totals),
        points: await shownPoints(found.points),
        groups,
        other: totalsOf(found.other),
        coverage: history.coverage(found.since, found.until).map(({ from, to }) => ({ from: iso(from), to: iso(to) })),
      }
    },
  }),
])

const slices = new EventLoopYield()
const iso = (at: number): string => new Date(at).toISOString()

/** Returns the scopes of the history with exactly the zones that the caller may see. */
export function scopesOf({ config }: OverviewDeps, { scope, caller, accountId }: Call): string[] {
  if (scope.type === 'zone') return [scope.id]
  const zones = config().zones.filter(({ account }) => account === accountId)
  const visible = zones.filter(({ id }) => mayUse(caller, [], { account: accountId, zone: id }))
  // Requests to a zone that the caller cannot see, or could not see before it was removed, are left out.
  const seesAll = mayUse(caller, [], { account: accountId, zone: '*' })
  return seesAll && visible.length === zones.length ? [accountScope(accountId)] : visible.map(({ id }) => id)
}

function filterOf(text: string | undefined, by: DimensionName | undefined): Filter | undefined {
  if (text === undefined) return undefined
  const colon = text.indexOf(':')
  const dimension = DIMENSIONS.find((name) => name === text.slice(0, colon) && name !== 'agent,path')
  if (dimension === undefined)
    throw badQuery('filter', 'must be NAME:VALUE, as in agent:GPTBot, with a name that `by` takes')
  const filter = { dimension, value: text.slice(colon + 1) }
  if (by !== undefined && !areCountedTogether(by, filter))
    throw badQuery('filter', `requests are not counted by ${dimension} and ${by} together`)
  return filter
}

async function shownGroup(
  { key, row, points }: Group,
  by: DimensionName,
  names: ReadonlyMap<string, string>,
): Promise<Static<typeof Analytics>['groups'][number]> {
  const [value = '', description = ''] = key.split(SEPARATOR)
  const shown = { ...totalsOf(row), points: await shownPoints(points) }
  if (by === 'agent,path') return { key: `${value},${description}`, name: `${value} ${description}`, ...shown }
  const name = by === 'zone' ? names.get(value) : by === 'rule' && description !== '' ? description : undefined
  return { key: value, name: name ?? value, ...shown }
}

async function shownPoints(points: readonly Point[]): Promise<Static<typeof Points>> {
  const shown: Static<typeof Points> = []
  for (const { at, row } of points) {
    shown.push({ at: iso(at), ...totalsOf(row) })
    await slices.yieldToEventLoop()
  }
  return shown
}
