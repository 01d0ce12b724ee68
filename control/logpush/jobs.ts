import { Type } from 'typebox'
import { LOST_KEY } from '../../pipelines/logpush/destination.js'
import { InvalidInput } from '../../src/core/errors.js'
import { VersionConflict } from '../../src/core/store.js'
import type { Scope } from '../../src/core/scope.js'
import { endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { DestinationCheck } from './destination-check.js'
import type { LogpushDeps, ReadJob } from './services.js'
import type { JobRepository } from './job-repository.js'
import { checkJob, furtherIssues } from './job-check.js'
import { changedJob, newJob } from './job-merge.js'
import type { OwnershipTokens } from './ownership-token.js'
import { JobChange, JobInput, JobResult } from './schemas.js'

const scopes = ['account', 'zone'] as const
const PATH = '/logpush/jobs'
const MAX_ATTEMPTS = 5

/** Dependencies that the endpoints of log push share. */
export interface Parts {
  readonly repository: JobRepository
  readonly destinations: DestinationCheck
  readonly tokens: () => OwnershipTokens
}

/** The jobs of an account or zone. */
export function jobs(deps: LogpushDeps, parts: Parts): Endpoint[] {
  const context = contextOf(deps, parts)
  return [listJobs(context), createJob(context), readJob(context), replaceJob(context), removeJob(context)]
}

type Context = ReturnType<typeof contextOf>

/** Returns the dependencies that these endpoints share. */
function contextOf({ logpush }: LogpushDeps, { repository, destinations, tokens }: Parts) {
  const assertOwned = async (scope: Scope, destination: string, challenge: string | undefined): Promise<void> => {
    if (!logpush().destinations.needsOwnership(destination)) return
    if (challenge === undefined)
      throw new ApiError('badChallenge', '/ownership_challenge', 'the destination wants an ownership challenge')
    if (!(await tokens().valid(challenge, scope, destination)))
      throw new ApiError('badChallenge', '/ownership_challenge')
  }

  /** The job after a change, with its destination tried out if that is due; never when the job is switched off. */
  const decided = async ({ scope, body }: Pick<Call<string, JobChange>, 'scope' | 'body'>, old: ReadJob) => {
    const job = changedJob(old, body)
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
  return { repository, logpush, destinations, assertOwned, decided }
}

function listJobs({ repository }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: PATH,
    scopes,
    permissions: ACCESS.logpush.read,
    summary: 'List the log push jobs',
    result: Type.Array(JobResult),
    handle: ({ scope }) => whole(repository.list(scope).map((job) => repository.toResponse(scope, job))),
  })
}

function createJob({ logpush, repository, destinations, assertOwned }: Context): Endpoint {
  return endpoint({
    method: 'post',
    path: PATH,
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Create a log push job; its destination is tried out first',
    body: JobInput,
    maxBytes: 1_000_000,
    result: JobResult,
    refusal: 'badLogpush',
    further: ({ scope, body }, given) =>
      furtherIssues(
        newJob({ destination_conf: '', ...body }, scope),
        given,
        scope,
        logpush().limits().filter,
        destinations.issues(body.destination_conf),
      ),
    async handle(call) {
      const { scope, body } = call
      const job = newJob(body, scope)
      checkJob(job, scope, logpush().limits().filter, destinations.issues(job.destination_conf))
      repository.assertQuota(scope)
      await assertOwned(scope, job.destination_conf, body.ownership_challenge)
      await destinations.reach(job.destination_conf)
      return await repository.create(call, job)
    },
  })
}

function readJob({ repository }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: `${PATH}/:job_id`,
    scopes,
    permissions: ACCESS.logpush.read,
    summary: 'Read a log push job',
    result: JobResult,
    handle: ({ scope, params }) => repository.toResponse(scope, repository.get(scope, params.job_id).value),
  })
}

function replaceJob({ logpush, repository, destinations, decided }: Context): Endpoint {
  return endpoint({
    method: 'put',
    path: `${PATH}/:job_id`,
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Change a log push job; what is left out stays',
    body: JobChange,
    maxBytes: 1_000_000,
    result: JobResult,
    refusal: 'badLogpush',
    further({ scope, params, body }, given) {
      const old = repository.plain(scope, repository.get(scope, params.job_id).value)
      const job = changedJob(old, body)
      const moved = job.destination_conf !== old.destination_conf
      const inDestination = moved ? destinations.issues(job.destination_conf) : []
      return furtherIssues(job, given, scope, logpush().limits().filter, inDestination)
    },
    async handle(call) {
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
  })
}

function removeJob({ repository }: Context): Endpoint {
  return endpoint({
    method: 'delete',
    path: `${PATH}/:job_id`,
    scopes,
    permissions: ACCESS.logpush.write,
    summary: 'Delete a log push job; what it has not delivered yet is given up',
    result: Type.Object({ id: Type.Integer({ minimum: 1 }) }),
    async handle(call) {
      const id = call.params.job_id
      await repository.remove(call, id)
      return { id: Number(id) }
    },
  })
}
