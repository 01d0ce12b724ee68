import type { Place } from './report.js'

/** A fault of a file, with its place. */
export class SyntaxFault extends Error {
  readonly place: Place
  readonly column: number

  constructor(place: Place, column: number, message: string) {
    super(message)
    this.place = place
    this.column = column
  }
}
