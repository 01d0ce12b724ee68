import { Type, type Static } from 'typebox'
import {
  ERROR_PAGES,
  ERROR_PAGE_TYPES,
  errorPageType,
  type ErrorPageId,
  type ErrorPageSetting,
} from '../../src/core/model/error-page.js'
import { assertNoIssues } from '../../src/core/errors.js'
import { strict } from '../../src/core/schema.js'
import { UNKNOWN_TIME } from '../http/context.js'
import { ACCESS } from '../http/permissions.js'
import { area } from '../http/area.js'
import { ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { audited } from '../resources/audit.js'
import { PageUrl } from './error-assets.js'
import { relativeAddresses } from './relative-addresses.js'
import type { StoredPages } from './stored-pages.js'

const PATH = '/custom_pages'
const PAGE = `${PATH}/:identifier` as const

const Change = Type.Object(
  {
    state: Type.Enum(['default', 'customized']),
    url: Type.Optional(Type.Union([PageUrl, Type.Literal(''), Type.Null()])),
  },
  strict,
)

const PageResponse = Type.Object({
  id: Type.String(),
  description: Type.String(),
  required_tokens: Type.Array(Type.String({ description: 'Tokens that the page must have in it.' })),
  preview_target: Type.String(),
  created_on: Type.String({ format: 'date-time' }),
  modified_on: Type.String({ format: 'date-time' }),
  url: Type.Union([Type.String(), Type.Null()]),
  state: Type.Enum(['default', 'customized']),
})

const UNSET: ErrorPageSetting = { state: 'default', url: null, created_on: UNKNOWN_TIME, modified_on: UNKNOWN_TIME }
const IDS = Object.keys(ERROR_PAGE_TYPES) as ErrorPageId[]

function shown(id: ErrorPageId, { page: _page, ...setting }: ErrorPageSetting = UNSET): Static<typeof PageResponse> {
  const { description, preview_target, required_tokens } = errorPageType(id)
  return { id, description, required_tokens: [...required_tokens], preview_target, ...setting }
}

/** Throws `pageNotFound` if no page of the proxy has this identifier. */
function known(id: string): ErrorPageId {
  if (!Object.hasOwn(ERROR_PAGE_TYPES, id)) throw new ApiError('pageNotFound')
  return id as ErrorPageId
}

const rows = area<StoredPages>({ scopes: ['account', 'zone'], access: ACCESS.customPages, refusal: 'badPage' })

/** Pages that replace pages of the proxy. The page of a zone takes precedence over the page of its account. */
export const errorPages = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the pages of the proxy that can be replaced',
    result: Type.Array(PageResponse),
    handle: ({ deps }, { scope }) => whole(IDS.map((id) => shown(id, deps.store.get(ERROR_PAGES, scope, id)?.value))),
  }),
  rows.get(PAGE, {
    summary: 'Read which page replaces a page of the proxy',
    result: PageResponse,
    handle({ deps }, { scope, params }) {
      const id = known(params.identifier)
      return shown(id, deps.store.get(ERROR_PAGES, scope, id)?.value)
    },
  }),
  rows.put(PAGE, {
    summary: 'Replace a page of the proxy by one that is fetched from a URL, or restore it',
    body: Change,
    result: PageResponse,
    async handle(pages, call) {
      const { store, clock } = pages.deps
      const { scope, params } = call
      const id = known(params.identifier)
      const { state, url: given } = call.body
      const url = given === undefined || given === null || given === '' ? null : given
      if (state === 'customized' && url === null)
        assertNoIssues([{ pointer: '/url', message: 'is required with the state customized' }])
      const { required_tokens, inert } = errorPageType(id)
      const page = state === 'customized' ? await pages.fetch(url!, required_tokens) : undefined
      const after = await pages.edits.run(scope.id, async () => {
        const { value: before, version } = store.get(ERROR_PAGES, scope, id) ?? {}
        if (page) pages.assertRoom(scope, page, before?.page)
        const now = pages.now()
        const next: ErrorPageSetting = {
          state,
          url,
          created_on: before?.created_on ?? now,
          modified_on: now,
          ...(page && { page }),
        }
        await store.batch(
          ...audited(clock, call, { kind: ERROR_PAGES, scope, id, before, after: next, ifVersion: version }),
        )
        return next
      })
      const messages = [...withoutEffect(inert && page ? ['/state'] : []), ...(page ? relativeAddresses(page) : [])]
      return new ApiResponse(shown(id, after), { messages })
    },
  }),
])
