import { Type, type Static } from 'typebox'
import type { StoredWebhook } from '../../src/core/model/webhook.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, type GivenBody, type Message } from '../http/endpoint.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WebhookRepository } from './webhook-repository.js'
import { POSTURE, type PostureDeps } from './services.js'
import { notPublicHere } from './destination-check.js'
import { secretMessages } from './signing-secrets.js'
import { Candidate, EvaluationResult, NewWebhook, WebhookChange, WebhookResult } from './schemas.js'

const PATH = `${POSTURE}/webhooks`

const rows = area(
  { scopes, access: ACCESS.webhooks, refusal: 'badWebhook' },
  ({ posture }: PostureDeps, repository: WebhookRepository) => ({ repository, posture }),
)

/** Endpoints of webhooks, the destinations of posture findings. */
export const webhooks = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the webhooks of an account',
    result: Type.Array(WebhookResult),
    handle: ({ repository }, { scope }) => whole(repository.all(scope).map(shown)),
  }),
  rows.post(PATH, {
    summary: 'Create a webhook',
    body: NewWebhook,
    maxBytes: 1_000_000,
    result: WebhookResult,
    further: ({ repository }, { scope, body }, given) => repository.issues(scope, withCredentials(body, given)),
    handle: async ({ repository }, call) =>
      new ApiResponse(shown(await repository.create(call, call.body)), { messages: secretMessages(call.body) }),
  }),
  rows.get(`${PATH}/:webhook_id`, {
    summary: 'Read a webhook',
    result: WebhookResult,
    handle: ({ repository }, { scope, params }) => shown(repository.get(scope, params.webhook_id)),
  }),
  rows.put(`${PATH}/:webhook_id`, {
    summary: 'Replace the configuration of a webhook; a header without a value retains the stored one',
    body: WebhookChange,
    maxBytes: 1_000_000,
    result: WebhookResult,
    further: ({ repository }, { scope, params, body }, given) =>
      repository.issues(scope, withCredentials(body, given), params.webhook_id),
    async handle({ repository }, call) {
      const { webhook, moved } = await repository.update(call, call.params.webhook_id, call.body)
      return new ApiResponse(shown(webhook), { messages: [...secretMessages(call.body), ...movedMessages(moved)] })
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
      const result = await notPublicHere(async () => await posture().tester.evaluate(destination))
      return new ApiResponse(result, { messages: secretMessages(body) })
    },
  }),
  rows.post(`${PATH}/:webhook_id/evaluate`, {
    summary: 'Send a test delivery to a webhook, enabled or not',
    result: EvaluationResult,
    async handle({ posture, repository }, { scope, params }) {
      const destination = await repository.destination(scope, params.webhook_id)
      return await notPublicHere(async () => await posture().tester.evaluate(destination))
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
function shown(webhook: StoredWebhook): Static<typeof WebhookResult> {
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
