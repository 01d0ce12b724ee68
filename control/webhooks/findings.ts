import { Type, type Static } from 'typebox'
import type { Job } from '../../src/core/model/delivery.js'
import {
  FINDINGS,
  INSTANCES,
  SEVERITIES,
  timeOf,
  type StoredFinding,
  type StoredInstance,
} from '../../src/core/model/finding.js'
import type { Scope } from '../../src/core/scope.js'
import type { Kind, Stored } from '../../src/core/store.js'
import type { FindingIndex } from '../../src/webhooks/finding-index.js'
import { audit, audited, type Actor } from '../resources/audit.js'
import type { KeyedEdits } from '../resources/keyed-edits.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import type { WebhookRepository } from './webhook-repository.js'
import { POSTURE, type PostureDeps } from './services.js'
import { chosenFindings, chosenInstances, type Summed } from './finding-list.js'
import {
  ChosenFindings,
  ChosenInstances,
  FindingQuery,
  FindingResult,
  InstanceQuery,
  InstanceResult,
  NewSeverity,
} from './finding-schemas.js'

const PATH = `${POSTURE}/findings`

const rows = area(
  { scopes, access: ACCESS.webhooks },
  (deps: PostureDeps, repository: WebhookRepository, edits: KeyedEdits, index: FindingIndex) => {
    const { store, posture } = deps
    const summed = (scope: Scope, finding: StoredFinding): Summed => ({
      finding,
      stats: index.stats(scope, finding.id),
    })
    const stored = (scope: Scope, id: string) => {
      const found = store.get(FINDINGS, scope, id)
      if (!found) throw new ApiError('findingNotFound')
      return found
    }
    const instance = (scope: Scope, findingId: string, id: string, pointer?: string) => {
      const found = store.get(INSTANCES, scope, id)
      if (found?.value.finding_id !== findingId) throw new ApiError('instanceNotFound', pointer)
      return found
    }
    const instanceResponse = (scope: Scope, one: StoredInstance): Static<typeof InstanceResult> => {
      const { id, affliction_date, is_archived, asset, dlp_contexts = [] } = one
      const webhooks = posture()
        .deliveries.latest(scope, id)
        .map(({ delivery, state }: Job) => ({
          webhook_id: delivery.webhook_id,
          webhook_label: repository.label(scope, delivery.webhook_id),
          latest_job: {
            id: delivery.id,
            created_at: delivery.created_at,
            stale: Date.parse(delivery.created_at) < timeOf(affliction_date),
            status: state.status,
          },
        }))
      return {
        id,
        affliction_date,
        is_archived,
        asset: { fields: [], ...asset },
        dlp_contexts,
        remediations: [],
        webhooks,
      }
    }
    /** Archives or unarchives instances. Returns the first one, as clients of the public API expect. */
    const archive = async (call: Actor, findingId: string, ids: readonly string[], is_archived: boolean) => {
      const { scope } = call
      stored(scope, findingId)
      const chosen = [...new Set(ids)]
      await edits.run(scope.id, async () => {
        const found = chosen.map((id, at) => instance(scope, findingId, id, `/check_instances/${at}`))
        const changed = found.filter(({ value }) => value.is_archived !== is_archived)
        await change(deps, call, INSTANCES, changed, { is_archived })
      })
      return instanceResponse(scope, instance(scope, findingId, chosen[0] ?? '').value)
    }
    const ignore = async (call: Actor, ids: readonly string[], ignored: boolean) => {
      const { scope } = call
      const chosen = [...new Set(ids)]
      await edits.run(scope.id, async () => {
        const found = chosen.map((id, at) => store.get(FINDINGS, scope, id) ?? missing(`/checks/${at}`))
        const changed = found.filter(({ value }) => (value.ignored ?? false) !== ignored)
        await change(deps, call, FINDINGS, changed, { ignored })
      })
      return findingResponse(summed(scope, stored(scope, chosen[0] ?? '').value))
    }
    /** Sets the severity that a user chose, or returns to the one from the ingest. */
    const tune = async (call: Actor, id: string, severity_override: StoredFinding['severity_override']) => {
      const { scope } = call
      await edits.run(scope.id, async () => {
        const found = stored(scope, id)
        const { severity_override: _before, ...rest } = found.value
        const after = severity_override ? { ...rest, severity_override } : rest
        await store.batch(
          ...audited(deps.clock, call, {
            kind: FINDINGS,
            scope,
            id,
            before: found.value,
            after,
            ifVersion: found.version,
          }),
        )
      })
      return findingResponse(summed(scope, stored(scope, id).value))
    }
    return { store, summed, stored, index, instanceResponse, instance, archive, ignore, tune }
  },
)

/** Endpoints of findings and their instances. `edits`: shared by everything that changes them. */
export const findings = rows.endpoints([
  rows.get(PATH, {
    summary: 'List, search and sort the findings of an account',
    query: FindingQuery,
    result: Type.Array(FindingResult),
    handle({ store, summed }, { scope, query }) {
      const all = store.list(FINDINGS, scope).map(({ value }) => summed(scope, value))
      return page(chosenFindings(all, query), query, findingResponse)
    },
  }),
  rows.get(`${PATH}/:finding_id`, {
    summary: 'Read a finding',
    result: FindingResult,
    handle: ({ summed, stored }, { scope, params }) =>
      findingResponse(summed(scope, stored(scope, params.finding_id).value)),
  }),
  rows.get(`${PATH}/:finding_id/instances`, {
    summary: 'List, search and sort the instances of a finding',
    query: InstanceQuery,
    result: Type.Array(InstanceResult),
    handle({ index, stored, instanceResponse }, { scope, params, query }) {
      const { id } = stored(scope, params.finding_id)
      return page(chosenInstances(index.instances(scope, id), query), query, (one) => instanceResponse(scope, one))
    },
  }),
  rows.get(`${PATH}/:finding_id/instances/:instance_id`, {
    summary: 'Read an instance of a finding',
    result: InstanceResult,
    handle({ stored, instance, instanceResponse }, { scope, params: { finding_id, instance_id } }) {
      stored(scope, finding_id)
      return instanceResponse(scope, instance(scope, finding_id, instance_id).value)
    },
  }),
  ...([true, false] as const).map((mark) =>
    rows.post(`${PATH}/:finding_id/instances/${mark ? 'archive' : 'unarchive'}`, {
      summary: mark
        ? 'Archive instances of a finding; returns the first one'
        : 'Unarchive instances of a finding; returns the first one',
      body: ChosenInstances,
      maxBytes: 1_000_000,
      result: InstanceResult,
      handle: async ({ archive }, call) => await archive(call, call.params.finding_id, call.body.check_instances, mark),
    }),
  ),
  ...([true, false] as const).map((mark) =>
    rows.post(`${PATH}/${mark ? 'ignore' : 'unignore'}`, {
      summary: `${mark ? 'Ignore' : 'Stop ignoring'} findings; returns the first one`,
      body: ChosenFindings,
      maxBytes: 1_000_000,
      result: FindingResult,
      handle: async ({ ignore }, call) => await ignore(call, call.body.checks, mark),
    }),
  ),
  rows.post(`${PATH}/:finding_id/tune_finding_severity`, {
    summary: 'Choose the severity of a finding. The severity from the ingest stays beside it',
    body: NewSeverity,
    result: FindingResult,
    handle: async ({ tune }, call) =>
      await tune(call, call.params.finding_id, {
        severity: SEVERITIES[call.body.new_severity - 1]!,
        created_by: call.caller.id,
      }),
  }),
  rows.post(`${PATH}/:finding_id/reset_finding_severity`, {
    summary: 'Return to the severity of a finding from the ingest',
    result: FindingResult,
    handle: async ({ tune }, call) => await tune(call, call.params.finding_id, undefined),
  }),
])

/** Stores records with changed members. */
async function change<T extends object>(
  { store, clock }: PostureDeps,
  call: Actor,
  kind: Kind<T>,
  records: readonly Stored<T>[],
  members: Partial<T>,
): Promise<void> {
  if (records.length === 0) return
  const { scope } = call
  const changed = records.map(({ id, version, value }) => ({
    id,
    version,
    before: value,
    after: { ...value, ...members },
  }))
  await store.batch(
    changed.map(({ id, version, after }) => ({ kind, scope, id, value: after, ifVersion: version })),
    changed.map(({ id, before, after }) => audit(clock, call, { kind, scope, id, before, after })),
  )
}

const missing = (pointer: string): never => {
  throw new ApiError('findingNotFound', pointer)
}

function findingResponse({ finding: stored, stats }: Summed): Static<typeof FindingResult> {
  const {
    id,
    finding_type_id,
    integration,
    ignored = false,
    severity_override,
    created_at: _made,
    updated_at: _changed,
    ...finding
  } = stored
  const { active, archived, latest = '' } = stats
  return {
    id,
    finding: { ...finding, id: finding_type_id },
    integration,
    ignored,
    active_count: active,
    archived_count: archived,
    instance_count: active + archived,
    latest_affliction_date: latest,
    ...(severity_override && { severity_override }),
  }
}
