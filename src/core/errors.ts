/** One error in an input, with its position (a JSON pointer, RFC 6901) and a message. */
export interface Issue {
  readonly pointer: string
  readonly message: string
  /** Position inside of the text at the pointer, if the text is in a language of its own. */
  readonly inside?: PlaceInText
}

/** A position in a text. `line` counts from 1; `offset` counts characters of the line (UTF-16) from 0. */
export interface PlaceInText {
  readonly line: number
  readonly offset: number
  /** The issue in one line. */
  readonly reason: string
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

/** Returns the issues of the {@link InvalidInput} that `check` throws, or an empty list. */
export function issuesIn(check: () => unknown): readonly Issue[] {
  try {
    check()
    return []
  } catch (error) {
    if (error instanceof InvalidInput) return error.issues
    throw error
  }
}

/** Throws {@link InvalidInput} if there are issues, with the first one of each pointer. */
export function assertNoIssues(issues: readonly Issue[]): void {
  if (issues.length === 0) return
  const first = new Map(issues.toReversed().map((issue) => [issue.pointer, issue]))
  throw new InvalidInput(issues.filter((issue) => first.get(issue.pointer) === issue))
}

/** Throws a TypeError if the value is not a string, because callers of the libraries may have no types. */
export function assertString(value: unknown): asserts value is string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, but got a value of type ${typeof value}`)
}

/** Returns whether an error, or one of its causes, is a full disk. LevelDB reports it in its message only. */
export function isDiskFull(error: unknown): boolean {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code } = one as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT' || /no space left on device/i.test(one.message)) return true
  }
  return false
}

const MACHINE_FAULTS: readonly [codes: ReadonlySet<string | undefined>, text: RegExp, reason: string][] = [
  [
    new Set(['EMFILE', 'ENFILE']),
    /too many open files/i,
    'no file descriptor is free; raise the limit of open files, for example LimitNOFILE of systemd',
  ],
  [new Set(['EROFS']), /read-only file system/i, 'the file system is read-only; check the disk and mount it again'],
]

/**
 * Returns the fault of the machine, for example too few file descriptors, that caused an error or one of its causes.
 * LevelDB has no error codes.
 */
export function machineFault(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, message } = one as NodeJS.ErrnoException
    const found = MACHINE_FAULTS.find(([codes, text]) => codes.has(code) || text.test(message))
    if (found) return found[2]
  }
  return undefined
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const FILE_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied; let the user that runs edged read it',
  EISDIR: 'it is a folder; name a file in it',
}

/** Says why a file cannot be read, and what to do. */
export function fileFault(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  return FILE_FAULTS[code] ?? messageOf(error)
}
