import { Type, type Static } from 'typebox'
import { ERROR_ASSETS, type ErrorAsset } from '../../src/core/model/error-page.js'
import { assertNoIssues } from '../../src/core/errors.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Stored } from '../../src/core/store.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { audited, type Actor } from '../resources/audit.js'
import { relativeAddresses } from './relative-addresses.js'
import type { StoredPages } from './stored-pages.js'

const PATH = '/custom_pages/assets'
const ASSET = `${PATH}/:asset_name` as const

const description = Type.String({ maxLength: 1024, description: 'A short description.' })
export const PageUrl = Type.String({
  minLength: 1,
  maxLength: 4096,
  description:
    'http or https URL of the page. It is fetched once, with the write. Public, or allowed by `egress.allow_cidrs`; redirects are not followed.',
})
const NewAsset = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9_]+$',
      'x-message': 'must have letters, digits and underscores only',
      description: 'Unique name: letters, digits and underscores.',
    }),
    description: Type.Optional(description),
    url: PageUrl,
  },
  strict,
)
const AssetChange = Type.Object(
  {
    name: Type.Optional(Type.String({ description: 'The current name: it cannot be changed.' })),
    description: Type.Optional(description),
    url: Type.Optional(PageUrl),
  },
  strict,
)

const AssetResponse = Type.Object({
  name: Type.String(),
  description: Type.String(),
  url: Type.String(),
  last_updated: Type.String({ format: 'date-time', description: 'When the page was fetched.' }),
  size_bytes: Type.Integer({ description: 'Bytes of the page.' }),
})

const shown = ({ content: _content, type: _type, ...asset }: ErrorAsset): Static<typeof AssetResponse> => asset

const rows = area<StoredPages>({ scopes: ['account', 'zone'], access: ACCESS.customPages, refusal: 'badPage' })

/** Pages that `serve_error` rules of the same account or zone send by their name. */
export const errorAssets = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the pages that serve_error rules can send',
    query: Type.Object(paging({ max: 100 })),
    result: Type.Array(AssetResponse),
    handle: ({ deps }, { scope, query }) =>
      page(
        deps.store.list(ERROR_ASSETS, scope).map(({ value }) => value),
        query,
        shown,
      ),
  }),
  rows.post(PATH, {
    summary: 'Fetch a page and store it for serve_error rules',
    body: NewAsset,
    result: AssetResponse,
    async handle(pages, call) {
      const { scope, body } = call
      const taken = () => pages.deps.store.get(ERROR_ASSETS, scope, body.name) !== undefined
      if (taken()) throw new ApiError('pageExists', '/name')
      const fetched = await pages.fetch(body.url)
      return await pages.edits.run(scope.id, async () => {
        if (taken()) throw new ApiError('pageExists', '/name')
        const asset = { description: '', ...body, ...fetched, last_updated: pages.now() }
        return await put(pages, call, asset)
      })
    },
  }),
  rows.get(ASSET, {
    summary: 'Read what is known of a stored page',
    result: AssetResponse,
    handle: (pages, { scope, params }) => shown(stored(pages, scope, params.asset_name).value),
  }),
  rows.put(ASSET, {
    summary: 'Change a stored page; with a URL it is fetched again, also with the same one',
    body: AssetChange,
    result: AssetResponse,
    async handle(pages, call) {
      const { scope, params, body } = call
      const { name } = stored(pages, scope, params.asset_name).value
      if (body.name !== undefined && body.name !== name)
        assertNoIssues([{ pointer: '/name', message: `cannot be changed; it is ${name}` }])
      const fetched = body.url === undefined ? {} : { ...(await pages.fetch(body.url)), last_updated: pages.now() }
      return await pages.edits.run(scope.id, async () => {
        const before = stored(pages, scope, params.asset_name)
        return await put(pages, call, { ...before.value, ...body, ...fetched }, before)
      })
    },
  }),
  rows.delete(ASSET, {
    summary: 'Delete a stored page; rules that name it send the page of the proxy',
    status: 204,
    async handle(pages, call) {
      const { scope, params } = call
      const { store, clock } = pages.deps
      await pages.edits.run(scope.id, async () => {
        const { id, value: before, version } = stored(pages, scope, params.asset_name)
        await store.batch(...audited(clock, call, { kind: ERROR_ASSETS, scope, id, before, ifVersion: version }))
      })
    },
  }),
])

function stored({ deps }: StoredPages, scope: Scope, name: string): Stored<ErrorAsset> {
  const found = deps.store.get(ERROR_ASSETS, scope, name)
  if (!found) throw new ApiError('pageNotFound')
  return found
}

/** Writes an asset that replaces `before`, with its audit entry. */
async function put(
  pages: StoredPages,
  actor: Actor,
  asset: ErrorAsset,
  before?: Stored<ErrorAsset>,
): Promise<ApiResponse<Static<typeof AssetResponse>>> {
  const { store, clock } = pages.deps
  const { scope } = actor
  pages.assertRoom(scope, asset, before?.value)
  await store.batch(
    ...audited(clock, actor, {
      kind: ERROR_ASSETS,
      scope,
      id: asset.name,
      before: before?.value,
      after: asset,
      ifVersion: before?.version,
    }),
  )
  const isFetched = asset.last_updated !== before?.value.last_updated
  return new ApiResponse(shown(asset), { messages: isFetched ? relativeAddresses(asset) : [] })
}
