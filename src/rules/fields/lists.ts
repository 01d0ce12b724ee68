import type { RawHeaders } from '../../http/headers.js'

/** Returns the names (0) or the values (1) of header fields. */
export const everyOther = (headers: RawHeaders, which: 0 | 1): readonly string[] =>
  headers.filter((_, at) => at % 2 === which)
