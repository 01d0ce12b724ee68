/** What a file of a backup is. `alarms` are the times of alarms of the objects of one namespace. */
export type BackupFileType = 'd1' | 'object' | 'alarms' | 'home'

/** A file that a backup contains besides records and blobs: a database of scripts as of one moment. */
export interface BackupFile {
  /** Path below the folder of such files, `ACCOUNT/NAMESPACE/OBJECT.sqlite`. */
  readonly path: string
  readonly type: BackupFileType
  readonly bytes: number
  /** When the content was complete, RFC 3339. */
  readonly taken: string
  /** Id and name of the database, or class and script of the object. */
  readonly title?: string
  /** Reads the content, in chunks of at most 1 MiB. Valid until the next file is requested. */
  content(): AsyncIterable<Uint8Array>
}

/** Files of one backup, and accounts whose files are on another machine. */
export interface BackupFiles {
  readonly files: AsyncIterable<BackupFile>
  readonly elsewhere: readonly string[]
}
