import { InvalidInput, type Issue } from '../../src/core/errors.js'
import type { Scope } from '../../src/core/scope.js'
import { DATASETS } from '../../pipelines/records/index.js'
import type { PlainJob, ReadJob } from './services.js'
import type { JobChange, JobInput } from './schemas.js'

/** The datasets of jobs that name none. The daemon itself records these datasets. */
const USUAL: Readonly<Record<Scope['type'], string>> = {
  zone: 'http_requests',
  account: 'audit_logs_v2',
  daemon: 'audit_logs_v2',
}

/** The job that an input makes; `id` is given once it is stored. */
export function newJob(input: JobInput, scope: Scope): PlainJob {
  const { dataset, destination_conf, ownership_challenge: _token, subrequest_merging: _alias, ...rest } = input
  return withMerging(
    {
      ...rest,
      id: 0,
      dataset: dataset ?? USUAL[scope.type],
      destination_conf,
      enabled: input.enabled ?? false,
      kind: input.kind ?? '',
    },
    input,
  )
}

/** The job after a change. Throws InvalidInput for what stays as it was created. */
export function changedJob(old: ReadJob, change: JobChange): ReadJob {
  const { dataset, kind, ownership_challenge: _token, subrequest_merging: _alias, ...rest } = change
  const issues: Issue[] = []
  if (dataset !== undefined && dataset !== null && dataset !== old.dataset)
    issues.push({ pointer: '/dataset', message: `cannot be changed from ${old.dataset}; create another job` })
  if (kind !== undefined && kind !== old.kind)
    issues.push({ pointer: '/kind', message: `cannot be changed from ${JSON.stringify(old.kind)}; create another job` })
  if (issues.length > 0) throw new InvalidInput(issues)
  return withMerging({ ...old, ...rest }, change)
}

/** `subrequest_merging` is another name of `output_options.merge_subrequests`, and is stored there. */
function withMerging<J extends ReadJob>(job: J, { subrequest_merging: merging, output_options: given }: JobChange): J {
  if (merging === undefined) return job
  const said = given?.merge_subrequests ?? undefined
  if (said === merging) return job
  if (said !== undefined) throw reject('contradicts output_options.merge_subrequests')
  if (merging && !DATASETS.get(job.dataset)?.places.has('Subrequests'))
    throw reject(`is not possible for ${job.dataset}`)
  const options = job.output_options ?? undefined
  if (options === undefined && !merging) return job
  if (options === undefined && job.logpull_options) throw reject('needs output_options instead of logpull_options')
  return { ...job, output_options: { ...options, merge_subrequests: merging } }
}

const reject = (message: string) => new InvalidInput([{ pointer: '/subrequest_merging', message }])
