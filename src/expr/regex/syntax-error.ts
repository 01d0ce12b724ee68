/** A pattern that cannot be used, with the byte offset of the error. */
export class RegexSyntaxError extends Error {
  readonly at: number

  constructor(reason: string, at: number) {
    super(reason)
    this.at = at
  }
}
