import type { Output } from '../output.js'

/** A format of lines without options. */
export const LINE_FORMATS = ['json', 'combined', 'common', 'logfmt', 'text'] as const

/** Format of the lines of a source. `regex` has a pattern with named groups. */
export type FormatChoice = (typeof LINE_FORMATS)[number] | { readonly regex: string }

/** Reads lines of text as records. */
export interface LineFormat {
  /**
   * Adds the record of a line as one JSON object. `end` is the end of the line without its line feed. Throws
   * UnfitRecord if the line does not match. The output may then have a part of the record.
   */
  write(bytes: Uint8Array, start: number, end: number, output: Output): void
}
