import type { ErrorPageId, StoredPage } from '../../core/model/error-page.js'
import { contentTypeOf, templateOf } from '../../rules/page-template.js'
import type { Bytes } from './bytes-source.js'
import { lengthOf } from './bytes-source.js'
import { errorBox, type ErrorFacts } from './error-page.js'
import type { Exchange } from './exchange.js'
import type { FieldDeps } from '../../rules/fields/source.js'

/** Returns the page that replaces one of the proxy in a zone, or in its account. */
export type FindCustomPage = (
  zone: { readonly id: string; readonly accountId: string },
  id: ErrorPageId,
) => StoredPage | undefined

/** APIs often respond with these, and with 500, so they are never replaced. */
const NOT_REPLACED = new Set([501, 503, 505])

function pageOf({ reason, status }: Pick<ErrorFacts, 'reason' | 'status'>): ErrorPageId | undefined {
  if (reason === 'access_denied') return 'waf_block'
  if (reason === 'rate_limited') return 'ratelimit_block'
  if (reason === 'challenge_required') return undefined
  if (reason !== undefined) return '1000_errors'
  return status > 500 && !NOT_REPLACED.has(status) ? '500_errors' : undefined
}

/** Returns the page of the owner of a site instead of the error page, or undefined if none is stored for this error. */
export function customPage(
  { customPages, fields }: { readonly customPages: FindCustomPage | undefined; readonly fields: FieldDeps },
  { zone, clientAddress, rayId, startedAt: at }: Exchange,
  facts: Pick<ErrorFacts, 'status' | 'reason' | 'detail' | 'retryAfter'>,
): { readonly headers: Readonly<Record<string, string>>; readonly body: Bytes } | undefined {
  const id = pageOf(facts)
  const page = id && customPages?.(zone, id)
  if (!page) return undefined
  const body = templateOf(page).render({
    clientAddress,
    rayId,
    country: () => fields.geo.find(clientAddress).city?.country?.iso_code ?? '',
    box: () => errorBox({ ...facts, rayId, at }),
  })
  return {
    headers: {
      'content-type': contentTypeOf(page.type),
      'content-length': String(lengthOf(body)),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...(facts.retryAfter !== undefined && { 'retry-after': String(facts.retryAfter) }),
    },
    body,
  }
}
