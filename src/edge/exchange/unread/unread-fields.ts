import type { RawHeaders } from '../../../http/headers.js'

/** The fields of a request before anything reads them as lists, which most requests never need. */
export interface UnreadFields {
  /** Accept; several fields joined with commas. */
  readonly accept: string | undefined
  /** Returns the fields as the client sent them. */
  received(): RawHeaders
  /** Returns the fields for the origin. */
  forOrigin(): string[]
  /** Returns the head of the request for the origin: the same as {@link requestText} writes of these fields. */
  text(method: string, target: string): string
}
