/** One thing to try: what should come, and how to get what does come. A throw counts as a failure. */
export interface Case {
  name: string
  expected: unknown
  got(): unknown
}

/** A data file's cases, run against the product's own code. */
export interface Suite {
  name: string
  /** The copy under `test/fixtures` that is run when no file is named; absent where the cases come from a package. */
  fixture?: string
  cases(file: string): Iterable<Case> | Promise<Iterable<Case>>
}
