import type { Store } from '../core/store.js'
import { MemoryTrail } from './audit-trail.js'
import { GroupWriter } from './group-writer.js'
import { localStore } from './local.js'
import type { StoreOptions } from './options.js'
import { Resident } from './resident.js'

/** A store that forgets all when it is closed, for tests and trials. */
export function openMemory({ log, clock, retention }: StoreOptions): Store {
  const resident = new Resident(log)
  const trail = new MemoryTrail(retention)
  const writer = new GroupWriter(resident, 0, async (commits) => {
    for (const { audit } of commits) trail.append(audit, clock.now())
  })
  return localStore({
    resident,
    writer,
    audit: (after, limit) => trail.read(after, limit),
    available: () => true,
    close: async () => {},
  })
}
