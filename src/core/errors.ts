/** The next attempt may succeed: what was to be sent is kept and sent again. */
export class TransientError extends Error {
  override readonly name = 'TransientError'
}

/** No attempt will succeed: what was to be sent is set aside and its job is marked as failing. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError'
}

/** One thing that is wrong with an input: where (a JSON pointer, RFC 6901) and what. */
export interface Issue {
  readonly pointer: string
  readonly message: string
}

/** The input does not fit; the sender corrects it. Holds one issue per pointer. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(issues.map((issue) => `${issue.pointer || '/'} ${issue.message}`).join('; '))
    this.issues = issues
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
