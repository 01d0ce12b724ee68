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

/** Whether an error, or one of its causes, is a disk without free space. LevelDB reports it in its message only. */
export function isDiskFull(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT' || /no space left on device/i.test(one.message)) return true
  }
  return false
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
