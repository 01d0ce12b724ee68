import type { Store } from '../core/store.js'
import { MemoryTrail, NUMBERS } from './records/audit-trail.js'
import { GroupWriter } from './records/write-batcher.js'
import type { StoreOptions } from './records/options.js'
import { MemoryIndex } from './records/memory-index.js'
import { createStore } from './records/create-store.js'

/** Opens a store that loses all data when it is closed, for tests and trials. */
export function openMemory({ log, clock, retention }: StoreOptions): Store {
  const resident = new MemoryIndex(log)
  const trail = new MemoryTrail(retention)
  const writer = new GroupWriter(resident, 0, async (commits) => {
    for (const { audit } of commits) trail.append(audit, clock.now())
  })
  return createStore({
    resident,
    write: (decide) => writer.write(decide),
    audit: (cursor, limit, order) => trail.read(cursor, limit, order),
    cursors: NUMBERS,
    unavailable: () => undefined,
    close: () => writer.idle(),
  })
}
