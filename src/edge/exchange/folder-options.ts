import type { HtmlHandling } from '../../workers/assets/config.js'

/** A folder of files that is served. */
export interface FolderOptions {
  /** Absolute path. */
  readonly folder: string
  readonly html: HtmlHandling
}
