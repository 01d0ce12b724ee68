import type { RawHeaders } from '../../../http/headers.js'

export type NameTest = (text: string, begin: number, end: number) => boolean

/** The fields of a request before anything reads them as lists, which most requests never need. */
export interface UnreadFields {
  /** Accept; several fields joined with commas. */
  readonly accept: string | undefined
  /** The lines that the client sent and the origin gets, each after the end of the line before it. */
  readonly lines: string
  /** Host as the origin gets it. */
  readonly host: string
  /** Returns whether `test` holds for the name of a field that the client sent. It gets the place of the name in a text. */
  some(test: NameTest): boolean
  /** Returns the first value of a field that the client sent, by its lower-case name. */
  find(name: string): string | undefined
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
