import { MarkdownConverter } from './convert.js'
import type { PageOptions } from './options.js'
import { KeptHtml } from './kept/kept-html.js'

export interface ConvertOptions extends PageOptions {
  /**
   * Retains content that Markdown cannot express as HTML instead of its text, for readers that render Markdown to pages
   * again. Not together with `content: 'main'`, or with `links` other than `true`.
   */
  keepHtml?: boolean | undefined
}

/**
 * Converts one page that arrives in pieces. The Markdown depends only on the bytes, not on the cuts between pieces.
 * Returned Markdown is final. Frontmatter comes first, JSON-LD last.
 *
 * Throws NotConvertible for malformed XHTML and PageTooLarge, and is unusable afterwards.
 */
export class Converter {
  readonly #converter: MarkdownConverter

  constructor(options: ConvertOptions = {}) {
    const { keepHtml = false, content = 'page', links = true } = options
    this.#converter = new MarkdownConverter(options, keepHtml ? new KeptHtml() : undefined)
    if (keepHtml && content === 'main') throw new TypeError('keepHtml and content: main cannot be combined')
    if (keepHtml && links !== true) throw new TypeError(`keepHtml and links: ${links} cannot be combined`)
  }

  /** Reads the next bytes of the page. Returns the Markdown that is final so far, or ''. */
  write(bytes: Uint8Array): string {
    return this.#converter.write(bytes)
  }

  /** Ends the page. Returns the rest of its Markdown. */
  end(): string {
    return this.#converter.end()
  }

  /** Converts a page that is already decoded. */
  convert(html: string): string {
    return this.#converter.convert(html)
  }
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
