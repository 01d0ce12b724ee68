import { withBatches } from '../../../src/core/model/cursor-batches.js'
import { convertCursors } from './cursors.js'
import type { SpoolMigration } from './migration.js'

/** Cursors have one list of batches. Before, the first batch was separate. */
export const cursorBatches: SpoolMigration = {
  name: 'cursor-batches',
  convert: async (disk, folder) => await convertCursors(disk, folder, withBatches),
}
