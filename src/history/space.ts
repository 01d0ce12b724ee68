import { RESOLUTIONS, type CellStore } from './cell-store.js'
import type { RollUps } from './roll-ups.js'

/** Steps of one search for space. The next one goes on. */
const MAX_STEPS = 24

/** Deletes the oldest counts of the shortest periods until the store fits. */
export async function makeSpace(store: CellStore, rollUps: RollUps, maxBytes: number): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step++) {
    if ((await store.bytes()) <= maxBytes) return
    if (!(await shortenFirst(rollUps))) return
    await store.compact()
  }
}

async function shortenFirst(rollUps: RollUps): Promise<boolean> {
  for (const resolution of RESOLUTIONS) if (await rollUps.shorten(resolution)) return true
  return false
}
