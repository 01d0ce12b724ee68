/** `edged tail`: live records of a job, a pipeline or a dataset of the scope. */
import { Type } from 'typebox'
import { compileJob, type CompiledJob, type JobSettings } from '../../pipelines/logpush/settings/compiled-job.js'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import { readFilter } from '../../pipelines/records/index.js'
import { InvalidInput } from '../../src/core/errors.js'
import { ACCESS } from '../http/permissions.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { socketAddress } from '../http/websocket-url.js'
import { sessionPath } from './live-sessions.js'
import type { LiveSource } from './live-session.js'
import { isVisible } from './pipelines.js'
import { TailInput } from './tail-input.js'
import type { LogpushDeps } from './services.js'

const TailResult = Type.Object({
  destination_conf: Type.String({ description: 'WebSocket URL; anyone who has it can listen.' }),
  session_id: Type.String(),
})

/** Text messages of the WebSocket have records, a line each; binary ones how many were left out, as `{"missed":5}`. */
export const tail = ({ logpush }: LogpushDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/edged/tail',
    scopes: ['account', 'zone'],
    permissions: ACCESS.logpush.read,
    summary: 'Open a live session on a job, a pipeline or a dataset: for an hour, or until nobody listens',
    body: TailInput,
    result: TailResult,
    refusal: 'badLogpush',
    handle({ scope, caller, body, request, requestId }) {
      const { live, running } = logpush()
      const visible = (running?.() ?? []).filter((each) => isVisible(each, { scope, caller }))
      const session = live.tail(scope, tailSource(body, visible), requestId)
      if (!session) throw new ApiError('tooManySessions')
      return { destination_conf: socketAddress(request) + sessionPath(session.id), session_id: session.id }
    },
  }),
]

/**
 * Returns the source of a session. Throws InvalidInput if the input names a job or pipeline that is not among
 * `running`.
 */
export function tailSource(input: TailInput, running: readonly Watched[]): LiveSource {
  const { job, pipeline, route, dataset = 'http_requests', output_options = { timestamp_format: 'rfc3339' } } = input
  if (job === undefined && pipeline === undefined)
    return {
      elsewhere: { tail: input },
      compile: (seed) => compiled({ dataset, output_options }, input, seed),
    }
  const found = running.find(
    (each) =>
      (job === undefined ? each.kind === 'pipeline' && each.name === pipeline : each.name === String(job)) &&
      (route === undefined || each.route === route),
  )
  if (found === undefined) {
    const pointer = job !== undefined ? '/job' : route === undefined ? '/pipeline' : '/route'
    throw new InvalidInput([{ pointer, message: 'is not running here' }])
  }
  const { tap, settings } = found
  return {
    elsewhere: { tail: input },
    compile: (seed) => compiled(settings, input, seed),
    lines: tap && ((own, signal) => tap.watch(own, signal)),
  }
}

/** Compiles the settings of a job for single lines, with the filter of the watcher in addition to the job's filter. */
function compiled(settings: JobSettings, { fields, filter, sample }: TailInput, seed: string): CompiledJob {
  const { merge_subrequests: _merge, ...options } = asObject(settings.output_options)
  const suffix = options['record_suffix']
  const output = {
    ...options,
    batch_prefix: '',
    batch_suffix: '',
    record_delimiter: '',
    ...(typeof suffix === 'string' && { record_suffix: suffix.endsWith('\n') ? suffix : `${suffix}\n` }),
    ...(sample !== undefined && { sample_rate: 1 / sample }),
    ...(fields !== undefined && {
      output_type: 'ndjson',
      record_template: null,
      record_prefix: null,
      record_suffix: null,
      field_names: fields.split(',').map((name) => name.trim()),
    }),
  }
  const filters = [settings.filter, filter].filter((one) => one !== undefined && one !== null && one !== '')
  const both = filters.length < 2 ? (filters[0] ?? '') : { where: { and: filters.map(whereOf) } }
  // The older form of the options has them all as text.
  const shape = settings.output_options || fields !== undefined || !settings.logpull_options
  const written = shape ? { output_options: output, logpull_options: undefined } : {}
  return compileJob({ ...settings, ...written, filter: both }, seed)
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

/** Numbers keep all their digits. */
const whereOf = (filter: unknown): unknown => (readFilter(filter) as { where?: unknown }).where
