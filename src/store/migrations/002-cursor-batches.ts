import { withBatches } from '../../core/model/cursor-batches.js'
import type { Migration } from './migration.js'

/** Cursors of a shared log spool have one list of batches. Before, the first batch was separate. */
export const cursorBatches: Migration = {
  name: 'cursor-batches',
  kinds: ['logpush_cursor'],
  convert(record) {
    const value = record.value as { readonly state: object }
    return [{ ...record, value: { ...value, state: withBatches(value.state) } }]
  },
}
