import { IN_FLIGHT, type Outcome } from './installation.js'

/** Jobs and queues of deliveries are on another machine after this time. */
export const MAX_MOVE_MS = 20_000
const BATCH = 1000
/** Deliveries of one webhook that can be on their way, by default. */
const DELIVERIES = 20

/** What can have been on its way at the kills, and so is delivered twice. */
export const maxRepeats = (kills: readonly Outcome[]): { records: number; deliveries: number } => ({
  records: kills.length * IN_FLIGHT * BATCH,
  deliveries: kills.length * DELIVERIES,
})
