/** How a page was converted that was requested in Markdown. */
export interface Conversion {
  /** An outcome of `edged_markdown_pages_total`. Undefined before it is known. */
  outcome: string | undefined
  /** Bytes of the Markdown so far, without coding. */
  bytes: number
  /** Bytes of the HTML so far, without coding. */
  htmlBytes: number
  /** All of the Markdown is known, so no more bytes are added. */
  isWhole: boolean
}

export const newConversion = (): Conversion => ({ outcome: undefined, bytes: 0, htmlBytes: 0, isWhole: false })

/** The usual estimate. Tokenizers of language models have 3.3 to 3.8 (`npm run bench -- tokens`). */
const BYTES_PER_TOKEN = 4

/** Returns the estimated number of tokens in a text of this length. */
export const estimatedTokens = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN)
