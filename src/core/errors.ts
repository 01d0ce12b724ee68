/** One error in an input: its position (a JSON pointer, RFC 6901) and a message. */
export interface Issue {
  readonly pointer: string
  readonly message: string
}

/** The input is not valid and its sender has to correct it. Has one issue per pointer. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(issues.map((issue) => `${issue.pointer || '/'} ${issue.message}`).join('; '))
    this.issues = issues
  }
}

/** Returns whether an error, or one of its causes, is a full disk. LevelDB reports it in its message only. */
export function isDiskFull(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT' || /no space left on device/i.test(one.message)) return true
  }
  return false
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
