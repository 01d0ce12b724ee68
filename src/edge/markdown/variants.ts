import { MAX_HTML_BYTES } from '../../../pipelines/markdown/options.js'
import type { RawHeaders } from '../../http/headers.js'
import { MAX_ENCODED_BYTES } from '../exchange/content-coding.js'
import { ForwardingSink, type ResponseSink } from '../exchange/response.js'
import type { UnreadResponse } from '../exchange/unread-response.js'
import { aliasHeaders, type Alias } from '../exchange/markdown-addresses.js'
import {
  isHtmlType,
  isHtmlVariant,
  listVaryingByAccept,
  markdownHeaders,
  pageOf,
  variesByAccept,
  VARY_ACCEPT,
  type Page,
} from './headers.js'

/** A response of a zone with the converter on: it may differ for clients that ask for Markdown. */
export class HtmlVariant extends ForwardingSink {
  readonly #links: readonly string[]

  /** `links` are values of Link for a page with status 200. */
  constructor(next: ResponseSink, links: readonly string[] = []) {
    super(next)
    this.#links = links
  }

  override head(status: number, headers: RawHeaders): void {
    if (!isHtmlVariant(status, headers)) {
      this.next.head(status, headers)
      return
    }
    if (status !== 200 || this.#links.length === 0) {
      this.next.head(status, listVaryingByAccept(headers))
      return
    }
    const fields = variesByAccept(headers)
    for (const link of this.#links) fields.push('link', link)
    this.next.head(status, fields)
  }
}

/** The HTML variant of a response, and no other one. */
export class PlainVariant extends HtmlVariant {
  readonly #hasLinks: boolean

  constructor(next: ResponseSink, links: readonly string[]) {
    super(next, links)
    this.#hasLinks = links.length > 0
  }

  get takesText(): boolean {
    return !this.#hasLinks && this.next.takesText === true
  }

  unreadHead(response: UnreadResponse, added: RawHeaders): boolean {
    const { next } = this
    if (this.#hasLinks || !next.unreadHead) return false
    if (!isHtmlType(response.head.status, response.contentType)) return next.unreadHead(response, added)
    return !response.hasVary && next.unreadHead(response, added.length === 0 ? VARY_ACCEPT : added.concat(VARY_ACCEPT))
  }
}

/** Shorter Markdown fits into one packet and is not compressed. */
export const MIN_COMPRESSED_BYTES = 1400

/** Response fields that GET would return, as far as they are known without the page. */
export class MarkdownHead extends HtmlVariant {
  readonly #isList: boolean
  readonly #signal: string | undefined
  readonly #compress: () => void

  /** `compress` is called before the head if GET would return Markdown, unless the page is short: so is its Markdown. */
  constructor(
    next: ResponseSink,
    { isList, signal, compress }: { isList: boolean; signal: string | undefined; compress: () => void },
  ) {
    super(next)
    this.#isList = isList
    this.#signal = signal
    this.#compress = compress
  }

  override head(status: number, headers: RawHeaders): void {
    const page = pageOf(status, headers, this.#isList)
    const isMarkdown = page !== undefined && mayFit(page)
    const isShort = page?.codings.length === 0 && (page.length ?? Infinity) < MIN_COMPRESSED_BYTES
    if (isMarkdown && !isShort) this.#compress()
    this.next.head(status, isMarkdown ? markdownHeaders(headers, { signal: this.#signal }) : variesByAccept(headers))
  }
}

/** The response at an address that the edge adds to a site. */
export class AliasResponse extends HtmlVariant {
  readonly #alias: Alias
  readonly #host: string | undefined

  constructor(next: ResponseSink, alias: Alias, host: string | undefined) {
    super(next)
    this.#alias = alias
    this.#host = host
  }

  override head(status: number, headers: RawHeaders): void {
    this.next.head(status, aliasHeaders(this.#alias, this.#host, headers))
  }
}

/**
 * Returns false if the length shows that the page exceeds the limit. Encoded bytes may decode to more, rarely to less.
 */
export const mayFit = ({ length = 0, codings }: Page): boolean =>
  length <= (codings.length > 0 ? MAX_ENCODED_BYTES : MAX_HTML_BYTES)
