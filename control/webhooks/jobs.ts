import { Type, type Static } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { kindOf, type Job } from '../../src/core/model/delivery.js'
import { FINDINGS, INSTANCES } from '../../src/core/model/finding.js'
import type { StoredWebhook } from '../../src/core/model/webhook.js'
import type { Scope } from '../../src/core/scope.js'
import { assetOf, deliveryOf, type Sender } from '../../src/webhooks/payload.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { Caller } from '../http/context.js'
import { JobBatches } from './job-batches.js'
import type { WebhookRepository } from './webhook-repository.js'
import { POSTURE, type PostureDeps } from './services.js'
import {
  JobFilterBody,
  JobInclude,
  JobQuery,
  JobResult,
  JobsResult,
  JobWithTries,
  MAX_PAIRS,
  NewJobs,
  RetriedJobs,
} from './schemas.js'

const PATH = `${POSTURE}/webhooks/jobs`

const rows = area(
  { scopes, access: ACCESS.webhooks, refusal: 'badJobs' },
  (deps: PostureDeps, repository: WebhookRepository) => {
    const deliveries = () => deps.posture().deliveries
    const job = (scope: Scope, id: string): Job => {
      const found = deliveries().get(scope, id)
      if (!found) throw new ApiError('jobNotFound')
      return found
    }
    return { deps, repository, deliveries, job }
  },
)

/** Endpoints that send finding instances to webhooks and show the deliveries. */
export const jobs = rows.endpoints([
  rows.post(PATH, {
    summary: 'Send finding instances to webhooks, each to each; created jobs are durable and run in the background',
    body: NewJobs,
    maxBytes: 10_000_000,
    result: JobsResult,
    async handle({ deps, repository }, { scope, caller, body }) {
      const instances = [...new Set(body.finding_instance_ids)]
      const hooks = [...new Set(body.webhook_ids)]
      if (instances.length * hooks.length > MAX_PAIRS)
        throw new InvalidInput([
          { pointer: '/finding_instance_ids', message: `more than ${MAX_PAIRS} pairs with these webhooks` },
        ])
      return await send(deps, repository, { scope, caller }, { instanceIds: instances, webhookIds: hooks })
    },
  }),
  rows.get(PATH, {
    summary: 'List the jobs of an account, the newest first',
    query: JobQuery,
    isOwn: true,
    result: Type.Array(JobResult),
    handle({ deliveries }, { scope, query: { page, per_page, ...filter } }) {
      const { jobs, total } = deliveries().list(scope, filter, (page - 1) * per_page, per_page)
      const result_info = { page, per_page, count: jobs.length, total_count: total }
      return new ApiResponse(jobs.map(shown), {
        result_info: { ...result_info, total_pages: Math.ceil(total / per_page) },
      })
    },
  }),
  rows.get(`${PATH}/:job_id`, {
    summary: 'Read a job with its attempts',
    query: JobInclude,
    isOwn: true,
    result: JobWithTries,
    handle: ({ job }, { scope, params, query }) => detailed(job(scope, params.job_id), query.include === 'payload'),
  }),
  rows.post(`${PATH}/retry`, {
    summary: 'Retry all finished jobs that match a filter, with the same ids and bytes',
    body: JobFilterBody,
    result: RetriedJobs,
    handle: async ({ repository, deliveries }, { scope, body: { count_only: countOnly = false, ...filter } }) =>
      await deliveries().retryAll(scope, filter, (id) => repository.find(scope, id)?.status === 'enabled', {
        countOnly,
      }),
  }),
  rows.post(`${PATH}/:job_id/retry`, {
    summary: 'Retry a finished job, with the same id and bytes',
    result: JobWithTries,
    async handle({ repository, deliveries, job }, { scope, params: { job_id } }) {
      const { delivery } = job(scope, job_id)
      if (repository.find(scope, delivery.webhook_id)?.status !== 'enabled') throw new ApiError('webhookOff')
      const again = await deliveries().retry(scope, job_id)
      if (!again) throw new ApiError('jobInProgress')
      return detailed(again, false)
    },
  }),
])

/** Returns the trigger of a job for a caller. */
export const senderOf = ({ type, id }: Caller): Sender => ({
  triggered_by_actor: type === 'key' ? 'user' : 'account_token',
  triggered_by_id: id,
})

/** Finding instances and webhooks, each to be sent to each. */
interface Pairs {
  readonly instanceIds: readonly string[]
  readonly webhookIds: readonly string[]
}

/** Creates a job for each pair, and returns the reason for each pair that has none. */
async function send(
  { store, clock, posture }: PostureDeps,
  repository: WebhookRepository,
  { scope, caller }: { readonly scope: Scope; readonly caller: Caller },
  { instanceIds, webhookIds }: Pairs,
): Promise<Static<typeof JobsResult>> {
  const batches = new JobBatches(posture().deliveries, scope)
  const sender = senderOf(caller)
  for (const instanceId of instanceIds) {
    const instance = store.get(INSTANCES, scope, instanceId)?.value
    const finding = instance && store.get(FINDINGS, scope, instance.finding_id)?.value
    for (const webhookId of webhookIds) {
      const webhook = repository.find(scope, webhookId)
      const issue =
        webhookFault(webhook) ??
        (finding === undefined ? 'unknown finding instance' : undefined) ??
        (finding?.category.type === 'Content' ? 'content findings are never sent, only posture findings' : undefined) ??
        (batches.isFull ? 'the limit of waiting jobs is reached (webhooks.quotas.pending); try again later' : undefined)
      if (issue !== undefined || !webhook || !instance || !finding) batches.fail(instanceId, webhookId, issue ?? '')
      else await batches.add(deliveryOf(clock.now(), sender, webhook, finding, instance))
    }
  }
  await batches.flush()
  return { created: batches.created.map(shown), failed: batches.failed }
}

const webhookFault = (webhook: StoredWebhook | undefined): string | undefined =>
  webhook === undefined ? 'unknown webhook' : webhook.status === 'disabled' ? 'the webhook is disabled' : undefined

function shown({ delivery, state }: Job): Static<typeof JobResult> {
  const { finding_instance_id, finding_id: _finding, payload: _payload, ...members } = delivery
  const { status, last_updated_at, failure_reason, failure_details, attempts = 0, earlier_attempts = 0 } = state
  return {
    ...members,
    kind: kindOf(delivery),
    asset_data: delivery.kind === 'test' ? {} : assetOf(delivery),
    parameters: { finding_instance_id },
    status,
    last_updated_at,
    attempts: earlier_attempts + attempts,
    last_status_code: state.tries.at(-1)?.status_code ?? null,
    next_try_at: state.due_at ?? null,
    ...(failure_reason !== undefined && { failure_reason }),
    ...(failure_details !== undefined && { failure_details }),
  }
}

function detailed(job: Job, includePayload: boolean): Static<typeof JobWithTries> {
  const payload = includePayload ? (JSON.parse(job.delivery.payload) as Record<string, unknown>) : undefined
  return { ...shown(job), tries: [...job.state.tries], ...(payload && { payload }) }
}
