import { charsetOf } from '../../../../pipelines/markdown/convert.js'
import { CharsetDecoder } from '../../../../pipelines/markdown/html/charset.js'
import { HtmlTokenizer } from '../../../../pipelines/markdown/html/tokenizer.js'
import type { Events, Skip, Tag } from '../../../../pipelines/markdown/text/events.js'
import { HEAD_ELEMENTS } from '../../../../pipelines/markdown/text/names.js'
import { NotConvertible } from '../../../../pipelines/markdown/text/not-convertible.js'

/** Elements of a head whose contents name nothing. */
const SKIPPED = new Set(['script', 'style', 'template', 'noframes', 'title'])

/** An address as a page writes it. */
export interface WrittenAddress {
  readonly href: string
  /** The `href` of the `base` element before it. Undefined without one. */
  readonly base: string | undefined
}

/** Finds the canonical address that the head of an HTML page names (RFC 6596). The first `link` counts. */
export class CanonicalLink implements Events {
  readonly collapses = true
  readonly #decoder: CharsetDecoder
  readonly #tokenizer = new HtmlTokenizer(this)
  #base: string | undefined
  #found: WrittenAddress | undefined
  #isOver = false

  constructor(contentType: string) {
    this.#decoder = new CharsetDecoder({ charset: charsetOf(contentType.split(';').slice(1)) })
  }

  /** The address. Undefined if the head so far does not have one. */
  get found(): WrittenAddress | undefined {
    return this.#found
  }

  /** Whether more of the page changes nothing. */
  get isOver(): boolean {
    return this.#isOver
  }

  write(bytes: Uint8Array): void {
    this.#read(() => this.#decoder.write(bytes))
  }

  end(): void {
    this.#read(() => this.#decoder.end())
    if (!this.#isOver) this.#tokenizer.end()
    this.#isOver = true
  }

  open(tag: Tag): Skip | void {
    if (this.#isOver) return 'skip'
    const { name } = tag
    if (!HEAD_ELEMENTS.has(name)) this.#isOver = true
    else if (name === 'base') this.#base ??= tag.attribute('href')
    else if (name === 'link') this.#link(tag)
    return SKIPPED.has(name) ? 'skip' : undefined
  }

  close(name: string): void {
    if (name === 'head' || name === 'body' || name === 'html') this.#isOver = true
  }

  text(text: string): void {
    // Text outside of the elements of a head begins the body.
    if (text.trim() !== '') this.#isOver = true
  }

  #link(tag: Tag): void {
    const relations = (tag.attribute('rel') ?? '').toLowerCase().split(/\s+/)
    const href = relations.includes('canonical') ? tag.attribute('href')?.trim() : undefined
    if (href === undefined || href === '') return
    this.#found = { href, base: this.#base }
    this.#isOver = true
  }

  #read(decode: () => string): void {
    if (this.#isOver) return
    try {
      const text = decode()
      if (text !== '') this.#tokenizer.write(text)
    } catch (error) {
      if (!(error instanceof NotConvertible)) throw error
      this.#isOver = true
    }
  }
}
