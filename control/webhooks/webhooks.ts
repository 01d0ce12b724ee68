import { Type, type Static } from 'typebox'
import type { WebhookHealthState } from '../../src/core/model/delivery.js'
import type { StoredWebhook } from '../../src/core/model/webhook.js'
import type { Scope } from '../../src/core/scope.js'
import { testDelivery } from '../../src/webhooks/payload.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type GivenBody, type Message } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WebhookRepository } from './webhook-repository.js'
import { POSTURE, type PostureDeps } from './services.js'
import { notPublicHere } from './destination-check.js'
import { senderOf } from './jobs.js'
import { secretMessages } from './signing-secrets.js'
import { Candidate, EvaluationResult, NewWebhook, TriedWebhook, WebhookChange, WebhookResult } from './schemas.js'

const PATH = `${POSTURE}/webhooks`

const rows = area(
  { scopes, access: ACCESS.webhooks, refusal: 'badWebhook' },
  ({ posture, clock }: PostureDeps, repository: WebhookRepository) => ({
    repository,
    posture,
    clock,
    shown: (scope: Scope, webhook: StoredWebhook): Static<typeof WebhookResult> => ({
      ...shown(webhook),
      edged: healthShown(posture().health(scope, webhook.id)),
    }),
  }),
)

/** Endpoints of webhooks, the destinations of posture findings. */
export const webhooks = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the webhooks of an account',
    result: Type.Array(WebhookResult),
    handle: ({ repository, shown }, { scope }) => whole(repository.all(scope).map((one) => shown(scope, one))),
  }),
  rows.post(PATH, {
    summary: 'Create a webhook',
    body: NewWebhook,
    maxBytes: 1_000_000,
    result: WebhookResult,
    further: ({ repository }, { scope, body }, given) => repository.issues(scope, withCredentials(body, given)),
    handle: async ({ repository, shown }, call) =>
      new ApiResponse(shown(call.scope, await repository.create(call, call.body)), {
        messages: secretMessages(call.body),
      }),
  }),
  rows.get(`${PATH}/:webhook_id`, {
    summary: 'Read a webhook',
    result: WebhookResult,
    handle: ({ repository, shown }, { scope, params }) => shown(scope, repository.get(scope, params.webhook_id)),
  }),
  rows.put(`${PATH}/:webhook_id`, {
    summary: 'Replace the configuration of a webhook; a header without a value retains the stored one',
    body: WebhookChange,
    maxBytes: 1_000_000,
    result: WebhookResult,
    further: ({ repository }, { scope, params, body }, given) =>
      repository.issues(scope, withCredentials(body, given), params.webhook_id),
    async handle({ repository, shown }, call) {
      const { webhook, moved } = await repository.update(call, call.params.webhook_id, call.body)
      return new ApiResponse(shown(call.scope, webhook), {
        messages: [...secretMessages(call.body), ...movedMessages(moved)],
      })
    },
  }),
  rows.delete(`${PATH}/:webhook_id`, {
    summary: 'Delete a webhook; its waiting jobs fail',
    bare: true,
    handle: async ({ repository }, call) => await repository.remove(call, call.params.webhook_id),
  }),
  rows.post(`${PATH}/evaluate`, {
    summary: 'Send a test delivery with a configuration that is not stored',
    body: Candidate,
    maxBytes: 1_000_000,
    result: EvaluationResult,
    further: ({ repository }, { scope, body }, given) => repository.issues(scope, withCredentials(body, given)),
    async handle({ posture, repository }, { scope, body }) {
      const destination = await repository.candidate(scope, body)
      const { sent, ...result } = await notPublicHere(async () => await posture().tester.evaluate(destination))
      return new ApiResponse(
        { ...result, edged_response: sent?.attempt.response ?? null },
        { messages: secretMessages(body) },
      )
    },
  }),
  rows.post(`${PATH}/:webhook_id/evaluate`, {
    summary: 'Send a test delivery to a webhook, enabled or not',
    result: EvaluationResult,
    async handle({ posture, clock, repository }, { scope, caller, params: { webhook_id: id } }) {
      const destination = await repository.destination(scope, id)
      const { sent, ...result } = await notPublicHere(async () => await posture().tester.evaluate(destination))
      if (sent)
        await posture().deliveries.tested(
          scope,
          testDelivery(clock.now(), senderOf(caller), id, sent.payload),
          sent.attempt,
        )
      return { ...result, edged_response: sent?.attempt.response ?? null }
    },
  }),
  rows.post(`${PATH}/:webhook_id/edged/try`, {
    summary: 'Attempt one waiting delivery now, also while the webhook is paused after failures',
    result: TriedWebhook,
    handle({ posture, repository }, { scope, params: { webhook_id: id } }) {
      if (repository.get(scope, id).status !== 'enabled') throw new ApiError('webhookOff')
      const attempted = posture().tryNow(scope, id)
      return { attempted, edged: healthShown(posture().health(scope, id)) }
    },
  }),
])

/** Code of the message for stored values that another host gets. */
const MOVED_VALUES = 10911

/** Returns a message that names the headers whose stored values go to another host than before. */
function movedMessages(keys: readonly string[]): Message[] {
  if (keys.length === 0) return []
  const message = `the new host of the destination gets the stored values of ${keys.join(', ')}; set new values if it must not`
  return [{ code: MOVED_VALUES, message, source: { pointer: '/headers' } }]
}

/**
 * Returns the members that fit, without the type of authentication if the credentials do not fit: those would be reported
 * as missing.
 */
function withCredentials(body: Partial<Candidate>, given: GivenBody): Partial<Candidate> {
  const { authentication_type: _type, ...others } = body
  const areSound = (['headers', 'signing_secret'] as const).every((name) => name in body === name in given)
  return areSound ? body : others
}

/** Returns the response form of a webhook, without secrets. */
function shown(webhook: StoredWebhook): Omit<Static<typeof WebhookResult>, 'edged'> {
  const { disabled_at, disabled_reason } = webhook
  const { id, label, destination_url, authentication_type, status, version, created_at, updated_at, headers } = webhook
  return {
    id,
    label,
    destination_url,
    authentication_type,
    status,
    version,
    created_at,
    updated_at,
    ...(headers.length > 0 && { headers: headers.map(({ key }) => ({ key })) }),
    ...(disabled_at !== undefined && { disabled_at }),
    ...(disabled_reason !== undefined && { disabled_reason }),
  }
}

const healthShown = ({ success, ...health }: WebhookHealthState): Static<typeof WebhookResult>['edged'] => ({
  ...health,
  success: success.map(([ok, failed]) => [ok, failed]),
})
