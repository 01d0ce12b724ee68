import type { RawHeaders } from '../../../http/headers.js'

/** The fields of a request before anything reads them as lists, which most requests never need. */
export interface UnreadFields {
  /** Accept; several fields joined with commas. */
  readonly accept: string | undefined
  /** The lines that the client sent and the origin gets, each after the end of the line before it. */
  readonly lines: string
  /** Returns the fields as the client sent them. */
  received(): RawHeaders
  /** Returns the fields for the origin. */
  forOrigin(): string[]
  /**
   * Returns the head of the request for the origin: the same as {@link requestText} writes of these fields. With `cf` it is the
   * head for a Worker.
   */
  text(method: string, target: string, cf?: string): string
}
