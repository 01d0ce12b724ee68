/** Maximum size of a page, in bytes without any content encoding. */
export const MAX_HTML_BYTES = 6_291_456

/** Error for a page of more than `MAX_HTML_BYTES`. The Markdown written before it is unusable. */
export class PageTooLarge extends Error {
  override readonly name = 'PageTooLarge'

  constructor() {
    super(`the page has more than ${MAX_HTML_BYTES} bytes`)
  }
}

/** Part of a page that is converted. */
export type Content = 'page' | 'main'

/** Options of the conversion of a page. */
export interface PageOptions {
  /** Content-Type header of the page, with its charset and whether it is XHTML. Default: HTML without a charset. */
  contentType?: string | undefined
  /**
   * `page` (default) converts the body without headers, footers and navigation; `main` only the main content, as far as it
   * can be recognized.
   */
  content?: Content | undefined
  /**
   * `false` leaves links as their text and images as their description. `numbered` writes a number after the text of each
   * link, and lists the addresses at the end. Default: `true`.
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
