import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Type, type Static, type TSchema } from 'typebox'
import { newOrderedUuid } from '../../src/core/ids.js'
import { FINDINGS, SEVERITIES, severityOf, type StoredInstance } from '../../src/core/model/finding.js'
import { POSTURE_EXPORTS, type StoredExport } from '../../src/core/model/integration.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { FindingIndex } from '../../src/webhooks/finding-index.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, FileResponse, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { PREFIX } from '../http/prefix.js'
import { ownUrl } from '../http/websocket-url.js'
import type { ControlDeps } from '../http/context.js'
import { chosenContent, contentAssets, ContentOrder, type ContentAsset } from './content.js'
import { chosenFindings, chosenInstances, type Summed } from './finding-list.js'
import { FindingQuery, InstanceQuery } from './finding-schemas.js'
import { POSTURE } from './services.js'

const PATH = `${POSTURE}/exports`
/** Of an account. The oldest one leaves. */
const MAX_EXPORTS = 100
/** Characters of a file that are written in one turn. */
const PIECE = 16_384

const { min_affliction_date, max_affliction_date, search } = FindingQuery.properties
const Times = { min_affliction_date, max_affliction_date, search }
const Orders = <S extends TSchema>(name: S) =>
  Type.Optional(Type.Array(Type.Object({ name, direction: Type.Enum(['asc', 'desc']) }, strict), { maxItems: 10 }))
const Ids = Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 1000 }))

const FindingFilters = Type.Object(
  {
    ...Times,
    ignored: Type.Optional(Type.Boolean()),
    integration_id: Ids,
    product: Type.Optional(Type.Union([Type.Enum(['SaaS', 'Cloud']), Type.Null()])),
    severities: Type.Optional(Type.Array(Type.Enum(['CRITICAL', 'HIGH', 'MEDIUM', 'LOW']), { maxItems: 4 })),
    vendors: Ids,
    orders: Orders(FindingQuery.properties.order),
  },
  strict,
)
const InstanceFilters = Type.Object(
  { ...Times, archived: Type.Optional(Type.Boolean()), orders: Orders(InstanceQuery.properties.order) },
  strict,
)

const ContentFilters = Type.Object(
  {
    ...Times,
    dlp_profile_id: Ids,
    dlp_profile_information: Type.Optional(
      Type.Array(Type.Object({}), { maxItems: 1000, description: 'No effect: the file has the ids of profiles.' }),
    ),
    integration_id: Ids,
    vendors: Ids,
    orders: Orders(ContentOrder),
  },
  strict,
)

const ExportResult = Type.Object({
  id: Type.String(),
  type: Type.Enum(['finding', 'findingInstance', 'content']),
  status: Type.Literal('Success', { description: 'At once: the file is written when it is read.' }),
  user_id: Type.String(),
  file_name: Type.String(),
  file_path: Type.Null(),
  download_url: Type.String({ description: 'Needs the token too.' }),
  errors: Type.Null(),
})

const rows = area(
  { scopes, access: ACCESS.webhooks },
  ({ store, clock }: Pick<ControlDeps, 'store' | 'clock'>, index: FindingIndex) => {
    const find = (scope: Scope, id: string): StoredExport => {
      const found = store.get(POSTURE_EXPORTS, scope, id)?.value
      if (!found) throw new ApiError('exportNotFound')
      return found
    }
    const create = async (
      { scope, caller, request }: Call,
      more: Pick<StoredExport, 'type' | 'filters'> & { readonly finding_id?: string },
    ): Promise<Static<typeof ExportResult>> => {
      const now = clock.now()
      const id = newOrderedUuid(now)
      const value: StoredExport = { id, user_id: caller.id, created_at: new Date(now).toISOString(), ...more }
      const all = store.list(POSTURE_EXPORTS, scope)
      const over = all.slice(0, Math.max(0, all.length + 1 - MAX_EXPORTS))
      await store.batch([
        { kind: POSTURE_EXPORTS, scope, id, value, ifVersion: 0 },
        ...over.map((one) => ({ kind: POSTURE_EXPORTS, scope, id: one.id, value: undefined })),
      ])
      return shown(request, scope, value)
    }
    const lines = (
      scope: Scope,
      { type, finding_id: findingId, filters }: StoredExport,
    ): Generator<readonly string[]> =>
      type === 'content'
        ? contentLines(contentAssets({ store }, index, scope), filters)
        : findingId === undefined
          ? findingLines(
              store.list(FINDINGS, scope).map(({ value }) => ({ finding: value, stats: index.stats(scope, value.id) })),
              filters,
            )
          : instanceLines(index.instances(scope, findingId), filters)
    return { store, find, create, lines }
  },
)

/** Exports of findings and of their instances as CSV. */
export const findingExports = rows.endpoints([
  rows.post(`${POSTURE}/findings/export`, {
    permissions: ACCESS.webhooks.read,
    summary: 'Export findings as CSV',
    body: FindingFilters,
    bodyOptional: true,
    result: ExportResult,
    handle: async ({ create }, call) => await create(call, { type: 'finding', filters: call.body }),
  }),
  rows.post(`${POSTURE}/findings/:finding_id/instances/export`, {
    permissions: ACCESS.webhooks.read,
    summary: 'Export the instances of a finding as CSV',
    body: InstanceFilters,
    bodyOptional: true,
    result: ExportResult,
    async handle({ store, create }, call) {
      const { finding_id } = call.params
      if (!store.get(FINDINGS, call.scope, finding_id)) throw new ApiError('findingNotFound')
      return await create(call, { type: 'findingInstance', finding_id, filters: call.body })
    },
  }),
  rows.post(`${POSTURE}/content/export`, {
    permissions: ACCESS.webhooks.read,
    summary: 'Export the assets with content findings as CSV',
    body: ContentFilters,
    bodyOptional: true,
    result: ExportResult,
    handle: async ({ create }, call) => await create(call, { type: 'content', filters: call.body }),
  }),
  rows.get(PATH, {
    summary: 'List the exports of an account, the newest first',
    query: Type.Object({
      ...paging({ max: 100 }),
      status: Type.Optional(Type.Enum(['Pending', 'Success', 'Failure', 'Rescheduled', 'In-Progress'])),
    }),
    result: Type.Array(ExportResult),
    handle({ store }, { scope, query, request }) {
      const isNone = query.status !== undefined && query.status !== 'Success'
      const all = isNone ? [] : store.list(POSTURE_EXPORTS, scope).toReversed()
      return page(all, query, ({ value }) => shown(request, scope, value))
    },
  }),
  rows.get(`${PATH}/:export_id`, {
    summary: 'Read an export',
    result: ExportResult,
    handle: ({ find }, { scope, params, request }) => shown(request, scope, find(scope, params.export_id)),
  }),
  rows.get(`${PATH}/:export_id/file`, {
    isOwn: true,
    summary: 'Read the file of an export: what matches now',
    file: 'text/csv',
    handle({ find, lines }, { scope, params }) {
      const found = find(scope, params.export_id)
      return new FileResponse('text/csv; charset=utf-8', Readable.from(csv(lines(scope, found))), {
        'content-disposition': `attachment; filename="${fileName(found)}"`,
      })
    },
  }),
])

type FindingFilters = Static<typeof FindingFilters>

const FILE_NAMES = { finding: 'findings', findingInstance: 'instances', content: 'content' } as const
const fileName = ({ type, id }: StoredExport): string => `${FILE_NAMES[type]}-${id}.csv`

const shown = (request: IncomingMessage, scope: Scope, stored: StoredExport): Static<typeof ExportResult> => ({
  id: stored.id,
  type: stored.type,
  status: 'Success',
  user_id: stored.user_id,
  file_name: fileName(stored),
  file_path: null,
  download_url: `${ownUrl(request)}${PREFIX}/accounts/${scope.id}${PATH}/${stored.id}/file`,
  errors: null,
})

const FIRST = { page: 1, per_page: 1 }

function* findingLines(all: readonly Summed[], filters: FindingFilters): Generator<readonly string[]> {
  const { severities, vendors, integration_id: integrations, product, orders = [], ...rest } = filters
  const [{ name: order, direction } = { name: 'latest_affliction_date', direction: 'desc' } as const] = orders
  const query = { ...FIRST, ...rest, ...(typeof product === 'string' && { product }), order, direction }
  const levels = new Set(SEVERITIES.filter((level) => severities?.some((one) => one === level.toUpperCase())))
  const chosen = chosenFindings(all, query).filter(
    ({ finding }) =>
      (severities === undefined || levels.has(severityOf(finding))) &&
      (vendors?.includes(finding.vendor) ?? true) &&
      (integrations?.includes(finding.integration.id) ?? true),
  )
  const names = ['id', 'name', 'severity', 'vendor', 'product', 'type', 'observation', 'integration']
  yield [...names, 'active', 'archived', 'ignored', 'latest_affliction_date']
  for (const { finding, stats } of chosen)
    yield [
      finding.id,
      finding.name,
      severityOf(finding),
      finding.vendor,
      finding.category.product,
      finding.category.type,
      finding.category.observation,
      finding.integration.name ?? finding.integration.id,
      String(stats.active),
      String(stats.archived),
      String(finding.ignored ?? false),
      stats.latest ?? '',
    ]
}

function* instanceLines(
  all: readonly StoredInstance[],
  filters: Static<typeof InstanceFilters>,
): Generator<readonly string[]> {
  const { orders = [], ...rest } = filters
  const [{ name: order, direction } = { name: 'affliction_date', direction: 'desc' } as const] = orders
  const query: Static<typeof InstanceQuery> = { ...FIRST, ...rest, order, direction }
  yield ['id', 'affliction_date', 'archived', 'asset', 'asset_external_id', 'asset_link']
  for (const { id, affliction_date, is_archived, asset } of chosenInstances(all, query))
    yield [id, affliction_date, String(is_archived), asset.name, asset.external_id, asset.link ?? '']
}

function* contentLines(
  all: readonly ContentAsset[],
  filters: Static<typeof ContentFilters>,
): Generator<readonly string[]> {
  const { dlp_profile_id: profiles, integration_id: integrations, vendors, orders = [], ...rest } = filters
  const [{ name: order, direction } = { name: 'latest_affliction_date', direction: 'desc' } as const] = orders
  const { dlp_profile_information: _names, ...times } = rest
  yield ['asset_id', 'asset_name', 'integration', 'dlp_profile_count', 'dlp_profile_ids', 'latest_affliction_date']
  for (const one of chosenContent(all, { ...times, order, direction })) {
    const ids = one.dlp_profile_ids
    if (profiles && !profiles.some((id) => ids.includes(id))) continue
    if (!(integrations?.includes(one.integration.id) ?? true) || !(vendors?.includes(one.vendor) ?? true)) continue
    yield [
      one.asset_id,
      one.asset_name,
      one.integration.name ?? one.integration.id,
      String(one.dlp_profile_count),
      ids.join(' '),
      one.latest_affliction_date,
    ]
  }
}

/** Yields the text of the lines in pieces, so that a long file is written in several turns. */
function* csv(lines: Iterable<readonly string[]>): Generator<string> {
  let piece = ''
  for (const line of lines) {
    piece += `${line.map(cell).join(',')}\r\n`
    if (piece.length < PIECE) continue
    yield piece
    piece = ''
  }
  yield piece
}

/** Returns a cell in quotes. A spreadsheet must not read a text of somebody else as a formula. */
const cell = (text: string): string => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
