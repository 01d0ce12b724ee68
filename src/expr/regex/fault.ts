/** A pattern that cannot be used, with the byte where the fault was seen. */
export class RegexSyntaxError extends Error {
  readonly at: number

  constructor(reason: string, at: number) {
    super(reason)
    this.at = at
  }
}
