/** How a page was converted that was requested in Markdown. */
export interface Conversion {
  /** An outcome of `edged_markdown_pages_total`. Undefined before it is known. */
  outcome: string | undefined
  /** Bytes of the Markdown so far, without coding. */
  bytes: number
  /** Bytes of the HTML so far, without coding. */
  htmlBytes: number
}

export const newConversion = (): Conversion => ({ outcome: undefined, bytes: 0, htmlBytes: 0 })
