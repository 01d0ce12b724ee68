import { Type, type Static } from 'typebox'
import { FINDINGS, Integration, timeOf } from '../../src/core/model/finding.js'
import type { Scope } from '../../src/core/scope.js'
import type { FindingIndex } from '../../src/webhooks/finding-index.js'
import { area } from '../http/area.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { between, has, is, sorted, type Key } from './finding-list.js'
import { FindingQuery } from './finding-schemas.js'
import { POSTURE } from './services.js'

const Content = Type.Object({
  asset_id: Type.String({ description: 'Of the vendor, if the asset has no other.' }),
  asset_name: Type.String(),
  dlp_contexts: Type.Array(Type.Object({}), { description: 'As they were ingested, of all findings of the asset.' }),
  dlp_profile_count: Type.Integer(),
  dlp_profile_ids: Type.Array(Type.String()),
  integration: Integration,
  latest_affliction_date: Type.String(),
})

/** An asset with the content findings about it. */
export interface ContentAsset extends Static<typeof Content> {
  readonly vendor: string
}

const { min_affliction_date, max_affliction_date, search, integration_id, vendor, direction } = FindingQuery.properties
export const ContentOrder = Type.Enum(
  ['asset_name', 'dlp_profile_count', 'integration_name', 'latest_affliction_date'],
  { default: 'latest_affliction_date' },
)
const Query = Type.Object({
  ...paging({ max: 100 }),
  min_affliction_date,
  max_affliction_date,
  search,
  integration_id,
  vendor,
  dlp_profile_id: Type.Optional(Type.String({ maxLength: 256 })),
  order: ContentOrder,
  direction,
})
export type ContentQuery = Omit<Static<typeof Query>, 'page' | 'per_page'>

const rows = area({ scopes, access: ACCESS.webhooks }, (deps: Pick<ControlDeps, 'store'>, index: FindingIndex) => ({
  all: (scope: Scope) => contentAssets(deps, index, scope),
}))

/** Assets with content findings, and remediation jobs, which edged does not have. */
export const content = rows.endpoints([
  rows.get(`${POSTURE}/content`, {
    summary: 'List the assets with content findings. Archived instances do not count',
    query: Query,
    result: Type.Array(Content),
    handle: ({ all }, { scope, query }) =>
      page(chosenContent(all(scope), query), query, ({ vendor: _vendor, ...shown }) => shown),
  }),
  rows.get(`${POSTURE}/remediations/jobs`, {
    summary: 'List the remediation jobs of an account: always empty, because nothing here changes assets',
    query: Type.Object(paging({ max: 100 })),
    ignoredQuery: [
      'cursor',
      'direction',
      'integration_id',
      'max_updated_at',
      'min_updated_at',
      'order',
      'search',
      'status',
      'triggered_by_actor',
    ],
    result: Type.Array(Type.Object({})),
    handle: (_, { query }) => page([], query, (one) => one),
  }),
])

/** Returns the assets with content findings. */
export function contentAssets(
  { store }: Pick<ControlDeps, 'store'>,
  index: FindingIndex,
  scope: Scope,
): ContentAsset[] {
  const assets = new Map<string, ContentAsset>()
  for (const { value: finding } of store.list(FINDINGS, scope)) {
    if (finding.category.type !== 'Content') continue
    for (const { asset, is_archived, affliction_date, dlp_contexts = [] } of index.instances(scope, finding.id)) {
      if (is_archived) continue
      const id = asset.id ?? asset.external_id
      const key = JSON.stringify([finding.integration.id, id])
      const before = assets.get(key)
      const contexts = [...(before?.dlp_contexts ?? []), ...dlp_contexts]
      const profiles = new Set(contexts.flatMap(profileOf))
      assets.set(key, {
        asset_id: id,
        asset_name: asset.name,
        dlp_contexts: contexts,
        dlp_profile_count: profiles.size,
        dlp_profile_ids: [...profiles],
        integration: finding.integration,
        latest_affliction_date:
          before && timeOf(before.latest_affliction_date) > timeOf(affliction_date)
            ? before.latest_affliction_date
            : affliction_date,
        vendor: finding.vendor,
      })
    }
  }
  return [...assets.values()]
}

const profileOf = (context: object): string[] =>
  'profile_id' in context && typeof context.profile_id === 'string' ? [context.profile_id] : []

/** Returns the assets that match a query, in its order. */
export function chosenContent(all: readonly ContentAsset[], query: ContentQuery): ContentAsset[] {
  const { dlp_profile_id: profile } = query
  const chosen = all.filter(
    (one) =>
      is(one.integration.id, query.integration_id) &&
      is(one.vendor, query.vendor) &&
      (profile === undefined || one.dlp_profile_ids.includes(profile)) &&
      has(one.asset_name, query.search) &&
      between(one.latest_affliction_date, query.min_affliction_date, query.max_affliction_date),
  )
  return sorted(chosen, KEYS[query.order], query.direction)
}

const KEYS: Readonly<Record<ContentQuery['order'], (one: ContentAsset) => Key>> = {
  asset_name: (one) => one.asset_name,
  dlp_profile_count: (one) => one.dlp_profile_count,
  integration_name: (one) => one.integration.name ?? '',
  latest_affliction_date: (one) => timeOf(one.latest_affliction_date),
}
