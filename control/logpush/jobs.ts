import { Type } from 'typebox'
import { LOST_KEY } from '../../pipelines/logpush/destination.js'
import { InvalidInput } from '../../src/core/errors.js'
import { VersionConflict } from '../../src/core/store.js'
import type { Scope } from '../../src/core/scope.js'
import { area } from '../http/area.js'
import { type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { DestinationCheck } from './destination-check.js'
import type { LogpushDeps, ReadJob } from './services.js'
import type { JobRepository } from './job-repository.js'
import { checkJob, furtherIssues } from './job-check.js'
import { changedJob, newJob } from './job-merge.js'
import { unmasked } from './masked-destinations.js'
import type { OwnershipTokens } from './ownership-token.js'
import { JobChange, JobInput, JobResult } from './schemas.js'

const PATH = '/logpush/jobs'
const MAX_ATTEMPTS = 5

/** Dependencies that the endpoints of log push share. */
export interface Parts {
  readonly repository: JobRepository
  readonly destinations: DestinationCheck
  readonly tokens: () => OwnershipTokens
}

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.logpush, refusal: 'badLogpush' },
  ({ logpush }: LogpushDeps, { repository, destinations, tokens }: Parts) => {
    const assertOwned = async (scope: Scope, destination: string, challenge: string | undefined): Promise<void> => {
      if (!logpush().destinations.needsOwnership(destination)) return
      if (challenge === undefined)
        throw new ApiError('badChallenge', '/ownership_challenge', 'the destination wants an ownership challenge')
      if (!(await tokens().valid(challenge, scope, destination)))
        throw new ApiError('badChallenge', '/ownership_challenge')
    }
    const withSecrets = <C extends Partial<JobChange>>({ destination_conf: stored }: ReadJob, change: C): C =>
      change.destination_conf === undefined
        ? change
        : {
            ...change,
            destination_conf: unmasked(
              change.destination_conf,
              stored,
              stored === undefined ? undefined : logpush().destinations.redact(stored),
            ),
          }
    /** The job after a change, with its destination tried out if that is due; never when the job is switched off. */
    const decided = async ({ scope, body }: Pick<Call<string, JobChange>, 'scope' | 'body'>, old: ReadJob) => {
      const job = changedJob(old, withSecrets(old, body))
      const { destination_conf: destination } = job
      const moved = destination !== old.destination_conf
      checkJob(job, scope, logpush().limits().filter, moved ? destinations.issues(destination) : [])
      const switchedOn = job.enabled && !old.enabled
      const switchedOff = old.enabled && !job.enabled
      if (destination === undefined) {
        if (switchedOn) throw new InvalidInput([{ pointer: '/destination_conf', message: LOST_KEY }])
        return job
      }
      if (moved) await assertOwned(scope, destination, body.ownership_challenge)
      if (switchedOn || (moved && !switchedOff)) await destinations.reach(destination)
      return job
    }
    return { repository, logpush, destinations, assertOwned, decided, withSecrets }
  },
)

/** The jobs of an account or zone. */
export const jobs = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the log push jobs',
    result: Type.Array(JobResult),
    handle: ({ repository }, call) => whole(repository.list(call.scope).map((job) => repository.toResponse(call, job))),
  }),
  rows.post(PATH, {
    summary: 'Create a log push job; its destination is tried out first',
    body: JobInput,
    maxBytes: 1_000_000,
    result: JobResult,
    further: ({ logpush, destinations }, { scope, body }, given) =>
      furtherIssues(
        newJob({ destination_conf: '', ...body }, scope),
        given,
        scope,
        logpush().limits().filter,
        destinations.issues(body.destination_conf),
      ),
    async handle({ logpush, repository, destinations, assertOwned }, call) {
      const { scope, body } = call
      const job = newJob(body, scope)
      checkJob(job, scope, logpush().limits().filter, destinations.issues(job.destination_conf))
      repository.assertQuota(scope)
      await assertOwned(scope, job.destination_conf, body.ownership_challenge)
      await destinations.reach(job.destination_conf)
      return await repository.create(call, job)
    },
  }),
  rows.get(`${PATH}/:job_id`, {
    summary: 'Read a log push job',
    result: JobResult,
    handle: ({ repository }, call) => repository.toResponse(call, repository.get(call.scope, call.params.job_id).value),
  }),
  rows.put(`${PATH}/:job_id`, {
    summary: 'Change a log push job; what is left out stays',
    body: JobChange,
    maxBytes: 1_000_000,
    result: JobResult,
    further({ logpush, repository, destinations, withSecrets }, { scope, params, body }, given) {
      const old = repository.plain(scope, repository.get(scope, params.job_id).value)
      const job = changedJob(old, withSecrets(old, body))
      const moved = job.destination_conf !== old.destination_conf
      const inDestination = moved ? destinations.issues(job.destination_conf) : []
      return furtherIssues(job, given, scope, logpush().limits().filter, inDestination)
    },
    async handle({ repository, decided }, call) {
      const { scope, params } = call
      for (let tries = 1; ; tries++) {
        const before = repository.get(scope, params.job_id)
        const job = await decided(call, repository.plain(scope, before.value))
        try {
          return await repository.replace(call, before, job)
        } catch (error) {
          if (!(error instanceof VersionConflict) || tries === MAX_ATTEMPTS) throw error
        }
      }
    },
  }),
  rows.post(`${PATH}/:job_id/edged/retry`, {
    summary: 'Attempt what a job could not deliver again now',
    result: Type.Object({ attempted: Type.Boolean({ description: 'False if the job does not run on this machine.' }) }),
    handle({ repository, logpush }, { scope, params: { job_id: id } }) {
      repository.get(scope, id)
      return { attempted: logpush().retry?.(id) ?? false }
    },
  }),
  rows.delete(`${PATH}/:job_id`, {
    summary: 'Delete a log push job; what it has not delivered yet is given up',
    result: Type.Object({ id: Type.Integer({ minimum: 1 }) }),
    async handle({ repository }, call) {
      const id = call.params.job_id
      await repository.remove(call, id)
      return { id: Number(id) }
    },
  }),
])
