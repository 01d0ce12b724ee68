import { Type, type Static } from 'typebox'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import { mayUse } from '../http/auth/access.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { type Call } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { EdgedSource, sourceOf } from '../resources/file-source.js'
import type { LogpushDeps } from './services.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })

const Running = Type.Object({
  kind: Type.Enum(['pipeline', 'job'], { description: 'pipeline: of the configuration; job: of this API.' }),
  name: Type.String({ description: 'Name of the pipeline, or id of the job.' }),
  route: Type.Optional(Type.String({ description: 'Route of the pipeline, if it has routes; each is an item.' })),
  dataset: Type.String(),
  source: Type.String({ description: 'Type of the source; zone or account for records of the daemon.' }),
  destination_conf: Type.String({ description: 'Without secrets.' }),
  state: Type.Enum(['running', 'failing', 'waiting', 'ended'], {
    description: 'waiting: it starts again after a failure; ended: the input is delivered to its end.',
  }),
  error_message: Type.Union([Type.String(), Type.Null()], { description: 'Why it fails; null if it does not.' }),
  records_read: count('Since the start of the daemon, invalid ones included.'),
  records_invalid: count('Left out because they are invalid.'),
  losses: Type.Optional(count('Times that records may have been lost before they were read. Of pipelines.')),
  records_lost: Type.Optional(count('Records known to be among them. Of pipelines.')),
  records_kept: count('That passed filter and sampling.'),
  records_sampled_out: count('Left out by sampling.'),
  records_repeated: count('Left out by dedupe.'),
  records_delivered: count('Delivered.'),
  records_dropped: count('Not delivered, and never will be.'),
  upload_failures: count('Attempts that failed.'),
  delivered_bytes: count('Before compression.'),
  lag_records: count('Accepted, and neither delivered nor passed over.'),
  lag_seconds: Type.Number({ minimum: 0, description: 'Age of the oldest record that was read and not delivered.' }),
  batches_in_flight: count('Batches being sent.'),
  edged_source: EdgedSource,
})

const rows = area<LogpushDeps>({ scopes: ['account', 'zone'], access: ACCESS.logpush })

/** Pipelines and jobs that run, with their counts. */
export const pipelines = rows.endpoints([
  rows.get('/edged/pipelines', {
    summary:
      'List the running pipelines and jobs with their state; on an account, callers with access to all accounts also ' +
      'see pipelines with sources outside',
    result: Type.Array(Running),
    handle: ({ logpush, config }, call) =>
      whole(
        (logpush().running?.() ?? [])
          .filter((each) => isVisible(each, call))
          .map((each) => ({
            ...shown(each),
            edged_source: each.kind === 'pipeline' ? sourceOf(config(), `pipeline/${each.name}`) : null,
          })),
      ),
  }),
])

/** Returns whether a caller that may read the logs of a scope sees a pipeline there. One without owner is the operator's. */
export const isVisible = ({ scope: owner }: Watched, { scope, caller }: Pick<Call, 'scope' | 'caller'>): boolean =>
  owner === undefined
    ? scope.type === 'account' && mayUse(caller, ACCESS.logpush.read, 'daemon')
    : owner.type === scope.type && owner.id === scope.id

function shown(watched: Watched): Omit<Static<typeof Running>, 'edged_source'> {
  const { kind, name, route, dataset, source, destination, counts } = watched
  const { lagRecords, lagSeconds, inFlight } = watched.progress()
  return {
    kind,
    name,
    ...(route !== undefined && { route }),
    dataset,
    source,
    destination_conf: destination,
    state: watched.state(),
    error_message: watched.error(),
    records_read: counts.read,
    records_invalid: counts.invalid,
    ...(counts.losses !== undefined && { losses: counts.losses }),
    ...(counts.lost !== undefined && { records_lost: counts.lost }),
    records_kept: counts.kept,
    records_sampled_out: counts.sampledOut,
    records_repeated: counts.repeated,
    records_delivered: counts.delivered,
    records_dropped: counts.dropped,
    upload_failures: counts.retried,
    delivered_bytes: counts.bytes,
    lag_records: lagRecords,
    lag_seconds: lagSeconds,
    batches_in_flight: inFlight,
  }
}
