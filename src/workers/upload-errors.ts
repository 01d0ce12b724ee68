/** Reasons for rejecting an upload. Each is a row of the API's errors. */
export type UploadIssueKind =
  | 'invalidScript'
  | 'noHandlers'
  | 'unnamedBinding'
  | 'variableTooLarge'
  | 'tooManyBindings'
  | 'inheritBinding'
  | 'serviceBinding'
  | 'classNotCreated'
  | 'classNotExported'
  | 'newClassNotExported'
  | 'badMigration'
  | 'migrationTag'
  | 'exportsConflict'
  | 'versionMigration'
  | 'unappliedMigration'
  | 'undeployedExport'

/** One reason for rejecting an upload. `pointer` leads into the metadata document. */
export interface UploadIssue {
  readonly kind: UploadIssueKind
  readonly message: string
  readonly pointer?: string
  /** Members that clients render, in addition to the message. */
  readonly meta?: Readonly<Record<string, unknown>>
}

/** The upload was rejected for all of these reasons. Nothing was stored. */
export class UploadRefused extends Error {
  override readonly name = 'UploadRefused'
  readonly issues: readonly UploadIssue[]

  constructor(issues: readonly UploadIssue[]) {
    super(issues.map(({ pointer, message }) => (pointer === undefined ? message : `${pointer} ${message}`)).join('; '))
    this.issues = issues
  }
}

/** Throws {@link UploadRefused} if there are issues. */
export function reject(issues: readonly UploadIssue[]): void {
  if (issues.length > 0) throw new UploadRefused(issues)
}
