import type { Disk } from '../../../src/disk/durable-write.js'

/** A step from one format of the spool to the next. It is never changed after its release. */
export interface SpoolMigration {
  /** Name for the log. */
  readonly name: string
  /**
   * Converts the files of one spool. It may have been interrupted before, and converted files must not change again.
   */
  readonly convert: (disk: Disk, folder: string) => Promise<void>
}
