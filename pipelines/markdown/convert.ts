import { CharsetDecoder } from './html/charset.js'
import type { Tokenizer } from './text/events.js'
import { KeptHtml } from './kept/kept-html.js'
import { LinkStyle } from './output/link-style.js'
import { MainPage } from './main/main-page.js'
import { Page } from './page/page.js'
import { HtmlTokenizer } from './html/tokenizer.js'
import { XhtmlTokenizer } from './html/xhtml.js'

/** Maximum size of a page, in bytes without any content encoding. */
export const MAX_HTML_BYTES = 6_291_456

/** Number of bytes that are decoded at a time, so that one page does not take memory for its bytes and its text. */
const PIECE = 65_536

/** Error for a page of more than `MAX_HTML_BYTES`. The Markdown written before it is unusable. */
export class PageTooLarge extends Error {
  override readonly name = 'PageTooLarge'

  constructor() {
    super(`the page has more than ${MAX_HTML_BYTES} bytes`)
  }
}

/** Part of a page that is converted. */
export type Content = 'page' | 'main'

export interface ConvertOptions {
  /** Content-Type header of the page, with its charset and whether it is XHTML. Default: HTML without a charset. */
  contentType?: string | undefined
  /**
   * Retains content that Markdown cannot express as HTML instead of its text, for readers that render Markdown to pages
   * again.
   */
  keepHtml?: boolean | undefined
  /**
   * `page` (default) converts the body without headers, footers and navigation; `main` only the main content, as far as it
   * can be recognized. Not together with `keepHtml`.
   */
  content?: Content | undefined
  /**
   * `false` leaves links as their text and images as their description. `numbered` writes a number after the text of each
   * link, and lists the addresses at the end. Default: `true`. Not together with `keepHtml`.
   */
  links?: boolean | 'numbered' | undefined
  /** Address of the page, for example `https://example.com/docs/page`. With it, addresses in the Markdown are absolute. */
  base?: string | undefined
  /** Markdown that is written between the frontmatter and the content. */
  notice?: string | undefined
  /**
   * `false` leaves marks of footnotes as links and the notes as the list that the page has. Default: `true`, they become
   * `[^1]` and `[^1]: Note.` as in GFM.
   */
  footnotes?: boolean | undefined
  /** `false` leaves the contents of callouts as plain blocks. Default: `true`, they become alerts as in GFM: `> [!NOTE]`. */
  callouts?: boolean | undefined
  /** `false` writes the TeX of a formula as a code span. Default: `true`, the span is between dollar signs, as in GFM. */
  math?: boolean | undefined
}

/**
 * Converts one page that arrives in pieces. The Markdown depends only on the bytes, not on the cuts between pieces.
 * Returned Markdown is final. Frontmatter comes first, JSON-LD last.
 *
 * Throws NotConvertible for malformed XHTML and PageTooLarge, and is unusable afterwards.
 */
export class Converter {
  readonly #page: Page
  readonly #decoder: CharsetDecoder
  readonly #tokenizer: Tokenizer
  #bytes = 0
  #isEmpty = true

  constructor(options: ConvertOptions = {}) {
    const { contentType = 'text/html', keepHtml = false, content = 'page', links = true } = options
    const { footnotes = true, callouts = true, math = true, base, notice } = options
    for (const [name, value] of Object.entries({ footnotes, callouts, math })) assertOneOf(name, value, [true, false])
    assertOneOf('content', content, ['page', 'main'])
    assertOneOf('links', links, [true, false, 'numbered'])
    if (keepHtml && content === 'main') throw new TypeError('keepHtml and content: main cannot be combined')
    if (keepHtml && links !== true) throw new TypeError(`keepHtml and links: ${links} cannot be combined`)
    const style = links === true ? undefined : new LinkStyle(links === false ? 'none' : links)
    this.#page = keepHtml ? new KeptHtml() : new (content === 'main' ? MainPage : Page)(undefined, style)
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

/** Throws if a caller without types passes something else than a page. */
function assertContent(given: unknown): asserts given is string | Uint8Array {
  if (typeof given === 'string' || given instanceof Uint8Array) return
  const found = given === null ? 'null' : Array.isArray(given) ? 'an array' : `a value of type ${typeof given}`
  throw new TypeError(`expected a string or bytes (Uint8Array), but got ${found}`)
}

/**
 * Converts a page to Markdown. Strings are converted as they are, bytes are decoded by the encoding of the
 * Content-Type, the page or its byte order mark. Throws NotConvertible for malformed XHTML and PageTooLarge for a page
 * above the limit.
 */
export function convert(html: string | Uint8Array, options?: ConvertOptions): string {
  assertContent(html)
  const converter = new Converter(options)
  return typeof html === 'string' ? converter.convert(html) : converter.write(html) + converter.end()
}
