import type { StoreOptions } from '../records/options.js'
import { checkLevel, type Checked } from './check.js'
import type { Database } from './format.js'
import { open } from './open.js'

/** The database below the embedded store, so that tests can inject one on a disk that fails. */
export interface Engine {
  /** Opens the database in a folder. */
  readonly open: (folder: string, options: { createIfMissing: boolean }) => Promise<Database>
  /** Checks the files of a store before the database changes one. Rejects with StoreDamaged. */
  readonly check: (folder: string, options: StoreOptions) => Promise<Checked>
}

/** Options of the embedded store. */
export interface LevelOptions extends StoreOptions {
  /** The default is LevelDB. */
  readonly engine?: Engine
}

export const LEVEL: Engine = { open, check: checkLevel }
