import { CharsetDecoder } from './html/charset.js'
import type { Tokenizer } from './text/events.js'
import { LinkStyle } from './output/link-style.js'
import { MainPage } from './main/main-page.js'
import { Page } from './page/page.js'
import { MAX_HTML_BYTES, PageTooLarge, type PageOptions } from './options.js'
import { HtmlTokenizer } from './html/tokenizer.js'
import { XhtmlTokenizer } from './html/xhtml.js'

/** Number of bytes that are decoded at a time, so that one page does not take memory for its bytes and its text. */
const PIECE = 65_536

/**
 * Converts one page that arrives in pieces. The Markdown depends only on the bytes, not on the cuts between pieces.
 * Returned Markdown is final. Frontmatter comes first, JSON-LD last.
 *
 * Throws NotConvertible for malformed XHTML and PageTooLarge, and is unusable afterwards.
 */
export class MarkdownConverter {
  readonly #page: Page
  readonly #decoder: CharsetDecoder
  readonly #tokenizer: Tokenizer
  #bytes = 0
  #isEmpty = true

  /** `page` writes the Markdown instead of the page that `options` choose. */
  constructor(options: PageOptions = {}, page?: Page) {
    const { contentType = 'text/html', content = 'page', links = true } = options
    const { footnotes = true, callouts = true, math = true, base, notice } = options
    for (const [name, value] of Object.entries({ footnotes, callouts, math })) assertOneOf(name, value, [true, false])
    assertOneOf('content', content, ['page', 'main'])
    assertOneOf('links', links, [true, false, 'numbered'])
    const style = links === true ? undefined : new LinkStyle(links === false ? 'none' : links)
    this.#page = page ?? new (content === 'main' ? MainPage : Page)(undefined, style)
    if (base !== undefined) this.#page.addresses.page = base
    if (notice !== undefined) this.#page.notice = notice
    if (!footnotes) this.#page.readsNotes = false
    if (!callouts) this.#page.readsCallouts = false
    this.#page.writesTex = math
    const [type = '', ...parameters] = contentType.split(';')
    const xml = type.trim().toLowerCase() === 'application/xhtml+xml'
    this.#decoder = new CharsetDecoder({ charset: charsetOf(parameters), xml, keepsUtf8: !xml })
    this.#tokenizer = xml ? new XhtmlTokenizer(this.#page) : new HtmlTokenizer(this.#page)
  }

  /** Reads the next bytes of the page. Returns the Markdown that is final so far, or ''. */
  write(bytes: Uint8Array): string {
    this.#count(bytes.byteLength)
    for (let at = 0; at < bytes.byteLength; at += PIECE) {
      const text = this.#decoder.write(bytes.subarray(at, at + PIECE))
      if (text !== '') this.#tokenizer.write(text, this.#decoder.isUtf8)
    }
    return this.#take()
  }

  /** Ends the page. Returns the rest of its Markdown. */
  end(): string {
    const text = this.#decoder.end()
    if (text !== '') this.#tokenizer.write(text, this.#decoder.isUtf8)
    return this.#finish()
  }

  /** Converts a page that is already decoded. */
  convert(html: string): string {
    // No character has more than three bytes for each of its code units.
    this.#count(html.length * 3 <= MAX_HTML_BYTES ? html.length : Buffer.byteLength(html))
    if (html !== '') this.#tokenizer.write(html)
    return this.#take() + this.#finish()
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > MAX_HTML_BYTES) throw new PageTooLarge()
  }

  #take(): string {
    const markdown = this.#page.take()
    if (markdown !== '') this.#isEmpty = false
    return markdown
  }

  #finish(): string {
    this.#tokenizer.end()
    const markdown = this.#page.end()
    return this.#isEmpty && markdown === '' ? '' : markdown + '\n'
  }
}

/** Returns the charset in the parameters of a Content-Type. RFC 9110, 5.6.6. */
export function charsetOf(parameters: readonly string[]): string | undefined {
  for (const parameter of parameters) {
    const value = /^\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s]*))\s*$/i.exec(parameter)
    if (value !== null) return value[1] ?? value[2] ?? value[3]
  }
  return undefined
}

/** Throws if a caller without types passes an unknown value. */
function assertOneOf(option: string, value: unknown, known: readonly unknown[]): void {
  if (!known.includes(value))
    throw new TypeError(
      `${option}: ${JSON.stringify(value)} is not known; use ${known.map((each) => JSON.stringify(each)).join(' or ')}`,
    )
}
