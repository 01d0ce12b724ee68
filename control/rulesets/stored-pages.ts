import {
  ERROR_ASSETS,
  ERROR_PAGES,
  MAX_PAGE_BYTES,
  PAGE_TYPES,
  type PageType,
  type StoredPage,
} from '../../src/core/model/error-page.js'
import type { Scope } from '../../src/core/scope.js'
import type { ControlDeps } from '../http/context.js'
import { ApiError } from '../http/errors.js'
import { KeyedEdits } from '../resources/keyed-edits.js'

/** A fetched page; see `src/egress/fetch-page.ts`. */
interface FetchedPage {
  readonly type: string
  readonly bytes: Buffer
}

/** Dependencies of the stored pages. */
export interface StoredPagesDeps extends ControlDeps {
  /** Gets a page that an API user names. Rejects with the reason, which that user may read. */
  readonly fetchPage: (url: URL, maxBytes: number) => Promise<FetchedPage>
}

/** Pages of all users that are fetched at the same time; each takes memory. */
const MAX_FETCHES = 16
const TYPES: ReadonlySet<string> = new Set(PAGE_TYPES)

/** Fetches pages that replace errors, and counts the stored pages of a scope. */
export class StoredPages {
  readonly deps: StoredPagesDeps
  readonly edits = new KeyedEdits('pagesBusy')
  #fetches = 0

  constructor(deps: StoredPagesDeps) {
    this.deps = deps
  }

  /** Fetches a page. Throws `badPage` with a pointer to the member `url`, and `pagesBusy`. */
  async fetch(text: string, tokens: readonly string[] = []): Promise<StoredPage> {
    const url = pageUrl(text)
    if (this.#fetches >= MAX_FETCHES) throw new ApiError('pagesBusy', undefined, { headers: { 'retry-after': '1' } })
    this.#fetches += 1
    try {
      return pageOf(await this.deps.fetchPage(url, MAX_PAGE_BYTES), tokens)
    } catch (error) {
      throw error instanceof ApiError ? error : unusable(error instanceof Error ? error.message : String(error))
    } finally {
      this.#fetches -= 1
    }
  }

  /** Throws `tooManyPages` if a scope cannot store the page instead of `before`. */
  assertRoom(scope: Scope, page: StoredPage, before: StoredPage | undefined): void {
    const { error_pages_per_scope: count, error_page_bytes_per_scope: bytes } = this.deps.config().control.quotas
    const { store } = this.deps
    const pages = [
      ...store.list(ERROR_ASSETS, scope).map(({ value }) => value),
      ...store.list(ERROR_PAGES, scope).flatMap(({ value }) => value.page ?? []),
    ].filter((one) => one !== before)
    const size = pages.reduce((sum, { size_bytes: own }) => sum + own, page.size_bytes)
    if (pages.length >= count || size > bytes) throw new ApiError('tooManyPages')
  }

  /** The current time as the API writes it. */
  now(): string {
    return new Date(this.deps.clock.now()).toISOString().replace('Z', '000Z')
  }
}

const unusable = (message: string): ApiError => new ApiError('badPage', '/url', message)

function pageUrl(text: string): URL {
  if (/[\s\\\p{Cc}\p{Cf}]/u.test(text) || !/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text))
    throw unusable('must be an http:// or https:// URL')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') throw unusable('must not have credentials in it')
  if (url.port === '0') throw unusable('must not have port 0')
  return url
}

function pageOf({ type, bytes }: FetchedPage, tokens: readonly string[]): StoredPage {
  if (bytes.length === 0) throw unusable('the page is empty')
  const text = textOf(bytes, type)
  const missing = tokens.find((token) => !text.includes(token))
  if (missing !== undefined) throw unusable(`the page must have the token ${missing} in it`)
  const content = Buffer.from(text)
  if (content.length > MAX_PAGE_BYTES) throw unusable(`the page is larger than ${MAX_PAGE_BYTES} bytes`)
  return { content: content.toString('base64'), size_bytes: content.length, type: pageType(type) }
}

const essence = (type: string): string => type.split(';', 1)[0]!.trim().toLowerCase()

/** Returns the type that a page is sent with: HTML unless its own is one of the others. */
function pageType(type: string): PageType {
  const own = essence(type).replace('application/xml', 'text/xml')
  if (/^(image|audio|video|font)\//.test(own)) throw unusable(`the page must be text; its type is ${own}`)
  return TYPES.has(own) ? (own as PageType) : 'text/html'
}

/** Returns the text of a page in the charset that its type names, else UTF-8. */
function textOf(bytes: Buffer, type: string): string {
  const label = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(type)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return bytes.toString('utf8')
  }
}
