import { Type, type Static } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newOrderedUuid } from '../../src/core/ids.js'
import { POLICIES, POLICY_RUNS, type StoredPolicy } from '../../src/core/model/policy.js'
import type { Scope } from '../../src/core/scope.js'
import { audited } from '../resources/audit.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { QuotaReservation } from '../resources/quota.js'
import type { WebhookRepository } from './webhook-repository.js'
import { POSTURE, type PostureDeps } from './services.js'
import { senderOf } from './jobs.js'
import { NewPolicy, PolicyChange, PolicyQuery, PolicyResult } from './policy-schemas.js'

const PATH = `${POSTURE}/policies`

const rows = area(
  { scopes, access: ACCESS.webhooks, refusal: 'badPolicy' },
  (deps: PostureDeps, repository: WebhookRepository) => {
    const { store, clock, posture } = deps
    const edits = new KeyedEdits()
    const room = new QuotaReservation()
    const stored = (scope: Scope, id: string) => {
      const found = store.get(POLICIES, scope, id)
      if (!found) throw new ApiError('policyNotFound')
      return found
    }
    const shown = (scope: Scope, policy: StoredPolicy): Static<typeof PolicyResult> => {
      const { webhook_ids, saved_by: _saver, integration_ids, ...members } = policy
      const last = store.get(POLICY_RUNS, scope, policy.id)?.value.last_triggered_at
      return {
        ...members,
        enabled: policy.disabled_at === undefined,
        integration_ids: [...integration_ids],
        actions: {
          webhook_configs: webhook_ids.map((id) => ({
            webhook_config_id: id,
            display_name: repository.label(scope, id),
          })),
          remediation_types: [],
        },
        ...(last !== undefined && { last_triggered_at: last }),
      }
    }
    const issuesOf = (scope: Scope, body: Partial<Body>): Issue[] => [
      ...(body.applies_to_all_integrations === undefined ? [] : integrationIssues(body)),
      ...(body.actions === undefined
        ? []
        : actionIssues(body.actions, (id) => repository.find(scope, id) !== undefined)),
    ]
    return { store, shown, clock, posture, room, issuesOf, stored, edits }
  },
)

/** Endpoints of policies, which send new finding instances automatically. */
export const policies = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the policies of an account, the oldest first',
    query: PolicyQuery,
    result: Type.Array(PolicyResult),
    handle({ store, shown }, { scope, query: { cursor, per_page } }) {
      const behind = cursor === undefined ? '' : idOf(cursor)
      const rest = store.list(POLICIES, scope).filter(({ id }) => id > behind)
      const page = rest.slice(0, per_page)
      const last = rest.length > per_page ? page.at(-1)?.id : undefined
      return new ApiResponse(
        page.map(({ value }) => shown(scope, value)),
        {
          result_info: { count: page.length, per_page, cursors: last === undefined ? {} : { after: cursorOf(last) } },
        },
      )
    },
  }),
  rows.post(PATH, {
    summary: 'Create a policy, which sends instances that are ingested afterwards',
    body: NewPolicy,
    result: PolicyResult,
    further: ({ issuesOf }, { scope, body }) => issuesOf(scope, body),
    async handle({ store, clock, posture, room, shown, issuesOf }, call) {
      const { scope, body, caller } = call
      assertNoIssues(issuesOf(scope, body))
      const id = newOrderedUuid(clock.now())
      const now = new Date(clock.now()).toISOString()
      const value: StoredPolicy = {
        id,
        finding_type_id: body.finding_type_id,
        ...configIndex(body),
        created_at: now,
        updated_at: now,
        ...(!body.enabled && { disabled_at: now }),
        saved_by: senderOf(caller),
      }
      const places = posture().limits().policies - store.count(POLICIES, scope)
      await room.take(scope.id, places, 'tooManyPolicies', async () => {
        await store.batch(...audited(clock, call, { kind: POLICIES, scope, id, after: value }))
      })
      return shown(scope, value)
    },
  }),
  rows.get(`${PATH}/:policy_id`, {
    summary: 'Read a policy',
    result: PolicyResult,
    handle: ({ stored, shown }, { scope, params }) => shown(scope, stored(scope, params.policy_id).value),
  }),
  rows.put(`${PATH}/:policy_id`, {
    summary: 'Replace a policy; its finding type cannot change',
    body: PolicyChange,
    result: PolicyResult,
    further: ({ issuesOf }, { scope, body }) => issuesOf(scope, body),
    async handle({ store, clock, edits, stored, shown, issuesOf }, call) {
      const { scope, body, caller } = call
      const id = call.params.policy_id
      return await edits.run(id, async () => {
        const { value: before, version } = stored(scope, id)
        const { finding_type_id, created_at } = before
        if (body.finding_type_id !== undefined && body.finding_type_id !== finding_type_id)
          throw new ApiError('badPolicy', '/finding_type_id', 'cannot change')
        assertNoIssues(issuesOf(scope, body))
        const now = new Date(clock.now()).toISOString()
        const after: StoredPolicy = {
          id,
          finding_type_id,
          ...configIndex(body),
          created_at,
          updated_at: now,
          ...(!body.enabled && { disabled_at: before.disabled_at ?? now }),
          saved_by: senderOf(caller),
        }
        await store.batch(...audited(clock, call, { kind: POLICIES, scope, id, before, after, ifVersion: version }))
        return shown(scope, after)
      })
    },
  }),
  rows.delete(`${PATH}/:policy_id`, {
    summary: 'Delete a policy',
    result: Type.Object({ id: Type.String() }),
    async handle({ store, clock, edits, stored }, call) {
      const { scope } = call
      const id = call.params.policy_id
      await edits.run(id, async () => {
        const { value: before, version } = stored(scope, id)
        await store.batch(
          ...audited(clock, call, { kind: POLICIES, scope, id, before, ifVersion: version }, [
            { kind: POLICY_RUNS, scope, id, value: undefined },
          ]),
        )
      })
      return { id }
    },
  }),
])

type Body = Static<typeof NewPolicy> | Static<typeof PolicyChange>

const webhookIds = (actions: Body['actions']): string[] =>
  (actions.webhook_configs ?? []).map(({ webhook_config_id }) => webhook_config_id)

const configIndex = (body: Body) => ({
  display_name: body.display_name,
  description: body.description ?? '',
  applies_to_all_integrations: body.applies_to_all_integrations,
  integration_ids: [...new Set(body.integration_ids)],
  webhook_ids: webhookIds(body.actions),
})

function integrationIssues({ applies_to_all_integrations, integration_ids = [] }: Partial<Body>): Issue[] {
  if (applies_to_all_integrations || integration_ids.length > 0) return []
  return [{ pointer: '/integration_ids', message: 'is required if the policy does not apply to all integrations' }]
}

function actionIssues(actions: Body['actions'], isWebhook: (id: string) => boolean): Issue[] {
  const { remediation_types = [] } = actions
  const ids = webhookIds(actions)
  if (ids.length + remediation_types.length === 0)
    return [{ pointer: '/actions', message: 'must have at least one action' }]
  const issues = remediation_types.map((_type, at) => ({
    pointer: `/actions/remediation_types/${at}/remediation_type_id`,
    message: 'unknown remediation type; edged remediates nothing',
  }))
  for (const [at, id] of ids.entries()) {
    const pointer = `/actions/webhook_configs/${at}/webhook_config_id`
    if (!isWebhook(id)) issues.push({ pointer, message: 'unknown webhook' })
    else if (ids.indexOf(id) !== at) issues.push({ pointer, message: 'is a duplicate' })
  }
  return issues
}

const ID = /^[0-9a-f-]{36}$/

const cursorOf = (id: string): string => Buffer.from(id).toString('base64url')

/** Returns the id that a cursor encodes. */
function idOf(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!ID.test(id)) throw new ApiError('badQuery', '/cursor', 'is not a cursor of this list')
  return id
}
