import type { Blobs } from '../../core/blobs.js'
import { AgeClock } from '../../core/age-clock.js'
import type { Clock } from '../../core/clock.js'
import { blobName } from './blob-name.js'

/** Creates a blob store in memory, for tests and trials. */
export function memoryBlobs(clock: Clock): Blobs {
  const ages = new AgeClock(clock)
  const held = new Map<string, { bytes: Buffer; at: number }>()
  return {
    async put(bytes) {
      const name = blobName(bytes)
      held.set(name, { bytes: Buffer.from(bytes), at: clock.now() })
      return name
    },

    async get(name) {
      const found = held.get(name)
      return found && Buffer.from(found.bytes)
    },

    async collect(referenced, olderThanMs) {
      let gone = 0
      const before = ages.now() - olderThanMs
      for (const [name, { at }] of held) {
        if (referenced.has(name) || at >= before) continue
        held.delete(name)
        gone += 1
      }
      return gone
    },
  }
}
