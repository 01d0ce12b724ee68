import { InvalidInput } from '../../src/core/errors.js'
import { LOGPUSH_JOBS, LOGPUSH_STATUS, type LogpushJob, type LogpushStatus } from '../../src/core/model/logpush-job.js'
import { DAEMON, type Scope } from '../../src/core/scope.js'
import { kind, type Stored } from '../../src/core/store.js'
import { secretOf } from '../../src/core/vault.js'
import { audited, type Actor } from '../resources/audit.js'
import { mayUse } from '../http/auth/access.js'
import type { Call } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'
import { placeOf } from '../http/server/scope.js'
import { ApiError } from '../http/errors.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { destinationOf, LOST_KEY } from '../../pipelines/logpush/destination.js'
import type { LogpushDeps, PlainJob, ReadJob } from './services.js'
import { jobState } from './job-state.js'
import type { JobResult } from './schemas.js'

/** The number that the latest job got. */
const NUMBERS = kind<{ readonly latest: number }>('logpush_job_number')
const LATEST = 'latest'

/** The sender of a change that gets the changed job. */
type JobActor = Actor & Pick<Call, 'caller' | 'accountId'>

/** The stored jobs, their destinations sealed. */
export class JobRepository {
  readonly #deps: LogpushDeps
  readonly #turns = new KeyedEdits('logpushBusy')

  constructor(deps: LogpushDeps) {
    this.#deps = deps
  }

  /** Throws `logpushJobNotFound`. */
  get(scope: Scope, id: string): Stored<LogpushJob> {
    const found = this.#deps.store.get(LOGPUSH_JOBS, scope, id)
    if (!found) throw new ApiError('logpushJobNotFound', undefined, `could not find the job ${id.slice(0, 20)}`)
    return found
  }

  /** In the order in which they were made. */
  list(scope: Scope): LogpushJob[] {
    return this.#deps.store
      .list(LOGPUSH_JOBS, scope)
      .map(({ value }) => value)
      .sort((a, b) => a.id - b.id)
  }

  /** The job with its destination in the clear. */
  plain(scope: Scope, job: LogpushJob): ReadJob {
    const { vault } = this.#deps.logpush()
    try {
      return { ...job, destination_conf: destinationOf(job, scope, String(job.id), vault) }
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      return { ...job, destination_conf: undefined }
    }
  }

  /** A job as the API returns it: with its state, and with its secrets if the caller may change it. */
  toResponse({ scope, caller, accountId }: Pick<Call, 'scope' | 'caller' | 'accountId'>, job: LogpushJob): JobResult {
    const { store, logpush } = this.#deps
    const plain = this.plain(scope, job)
    const { destination_conf: destination } = plain
    const mayWrite = mayUse(caller, ACCESS.logpush.write, placeOf({ scope, accountId }))
    const shown =
      destination === undefined || mayWrite
        ? plain
        : { ...plain, destination_conf: logpush().destinations.redact(destination) }
    return withStatus(shown, store.get(LOGPUSH_STATUS, scope, String(job.id))?.value, jobState(logpush(), job))
  }

  /** Throws `tooManyJobs` at the maximum number of jobs. */
  assertQuota(scope: Scope): void {
    if (this.#deps.store.count(LOGPUSH_JOBS, scope) >= this.#deps.logpush().limits().jobs_per_scope)
      throw new ApiError('tooManyJobs')
  }

  async create(actor: JobActor, plain: PlainJob): Promise<JobResult> {
    const { store, clock } = this.#deps
    const { scope } = actor
    // Every creation changes the number, so that jobs that other machines create are counted too.
    const job = await this.#turns.run('', async () => {
      this.assertQuota(scope)
      const number = store.get(NUMBERS, DAEMON, LATEST)
      const job = this.#sealed(scope, { ...plain, id: (number?.value.latest ?? 0) + 1 })
      const id = String(job.id)
      await store.batch(
        ...audited(clock, actor, { kind: LOGPUSH_JOBS, scope, id, after: job }, [
          { kind: NUMBERS, scope: DAEMON, id: LATEST, value: { latest: job.id }, ifVersion: number?.version ?? 0 },
        ]),
      )
      return job
    })
    return await this.#inForce(actor, job)
  }

  /** Replaces `before`. Rejects with VersionConflict if it was changed in between. */
  async replace(actor: JobActor, { version, value: before }: Stored<LogpushJob>, after: ReadJob): Promise<JobResult> {
    const { store, clock } = this.#deps
    const { scope } = actor
    const id = String(before.id)
    const { destination_conf: destination } = after
    const same = destination === undefined || destination === this.plain(scope, before).destination_conf
    const job = same
      ? { ...after, destination_conf: before.destination_conf }
      : this.#sealed(scope, { ...after, destination_conf: destination })
    await store.batch(
      ...audited(clock, actor, { kind: LOGPUSH_JOBS, scope, id, before, after: job, ifVersion: version }),
    )
    return await this.#inForce(actor, job)
  }

  /** Throws `logpushJobNotFound`. */
  async remove(actor: Actor, id: string): Promise<void> {
    const { store, clock } = this.#deps
    const { scope } = actor
    await this.#turns.run(id, async () => {
      const { version, value: before } = this.get(scope, id)
      await store.batch(
        ...audited(clock, actor, { kind: LOGPUSH_JOBS, scope, id, before, ifVersion: version }, [
          { kind: LOGPUSH_STATUS, scope, id, value: undefined },
        ]),
      )
    })
  }

  /** The client may send records as soon as it has the response, and an enabled job must get them. */
  async #inForce(actor: JobActor, job: LogpushJob): Promise<JobResult> {
    if (job.enabled) await this.#deps.logpush().settled(String(job.id))
    return this.toResponse(actor, job)
  }

  #sealed(scope: Scope, plain: PlainJob): LogpushJob {
    const sealed = this.#deps
      .logpush()
      .vault.seal(plain.destination_conf, secretOf(LOGPUSH_JOBS, scope, String(plain.id)))
    return { ...plain, destination_conf: { sealed } }
  }
}

/** The members in the order in which the public API has them. */
function withStatus(job: ReadJob, status: LogpushStatus | undefined, edged: JobResult['edged']): JobResult {
  const { id, dataset, kind, enabled, name, output_options, destination_conf, ...rest } = job
  return {
    id,
    dataset,
    kind,
    enabled,
    ...(name !== undefined && { name }),
    ...(output_options !== undefined && { output_options }),
    ...(destination_conf !== undefined && { destination_conf }),
    ...rest,
    last_complete: status?.last_complete ?? null,
    last_error: status?.last_error ?? null,
    error_message: destination_conf === undefined ? `/destination_conf ${LOST_KEY}` : (status?.error_message ?? null),
    edged,
    edged_source: null,
  }
}
