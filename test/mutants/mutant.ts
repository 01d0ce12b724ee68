/**
 * A guard that a test must notice the absence of. `npm run mutants` replaces `text`, which occurs once in `file`, by
 * `without`, and runs `test`, the nearest test file.
 */
export interface Mutant {
  readonly file: string
  readonly text: string
  readonly without: string
  readonly test: string
}

/** Returns the guards of one file that one test notices. */
export const of = (
  file: string,
  test: string,
  ...guards: readonly (readonly [text: string, without: string])[]
): Mutant[] => guards.map(([text, without]) => ({ file, text, without, test }))
