import { Type, type Static } from 'typebox'
import type { LagHistory, LagPoint } from '../../pipelines/logpush/lag-history.js'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { AuditTime, queryTime } from '../resources/audit-entries.js'
import type { JobRepository } from './job-repository.js'
import { isVisible } from './pipelines.js'
import type { LogpushDeps } from './services.js'

const Since = Type.Optional(AuditTime('Default: 24 hours ago. Older points are not kept.'))

const Lag = Type.Object({
  step_seconds: Type.Integer({ description: 'Length of a point.' }),
  points: Type.Array(
    Type.Object({
      at: Type.String({ format: 'date-time', description: 'Beginning of the point.' }),
      records: Type.Integer({ minimum: 0, description: 'Highest number of records that waited.' }),
      seconds: Type.Number({ minimum: 0, description: 'Highest age of the oldest record that waited.' }),
    }),
    { description: 'Oldest first. Times in which the job did not run on this machine have no point.' },
  ),
})

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.logpush },
  ({ logpush }: LogpushDeps, repository: JobRepository) => ({ logpush, repository }),
)

/** The lag of jobs and pipelines over time. */
export const lags = rows.endpoints([
  rows.get('/logpush/jobs/:job_id/edged/lag', {
    summary: 'Read the lag of a log push job in the last 24 hours',
    query: Type.Object({ since: Since }),
    result: Lag,
    handle({ logpush, repository }, { scope, params: { job_id: name }, query: { since } }) {
      repository.get(scope, name)
      return shown(logpush().lags, { kind: 'job', name }, since)
    },
  }),
  rows.get('/edged/pipelines/:name/lag', {
    summary: 'Read the lag of a pipeline, or of one of its routes, in the last 24 hours',
    query: Type.Object({ since: Since, route: Type.Optional(Type.String({ maxLength: 200 })) }),
    result: Lag,
    handle({ logpush }, call) {
      const { name } = call.params
      const { since, route } = call.query
      const found = (logpush().running?.() ?? []).find(
        (one) => one.kind === 'pipeline' && one.name === name && one.route === route && isVisible(one, call),
      )
      if (!found) throw new ApiError('notFound')
      return shown(logpush().lags, found, since)
    },
  }),
])

function shown(
  lags: Pick<LagHistory, 'points' | 'stepMs'> | undefined,
  name: Pick<Watched, 'kind' | 'name' | 'route'>,
  since: string | undefined,
): Static<typeof Lag> {
  const points = lags?.points(name, since === undefined ? 0 : queryTime(since, 'since')) ?? []
  return { step_seconds: (lags?.stepMs ?? 0) / 1000, points: points.map(pointOf) }
}

const pointOf = ({ at, records, seconds }: LagPoint) => ({ at: new Date(at).toISOString(), records, seconds })
