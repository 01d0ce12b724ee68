import type { Resolution } from './cell-store.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Days for which the counts of whole days are kept. */
const DAYS = 400

/** Returns for how long the periods of a resolution are kept: a little longer than a query may ask for. */
export function retentionMs({ name }: Resolution, days: number): number {
  if (name === 's') return HOUR + 5 * MINUTE
  if (name === 'm') return 48 * HOUR + HOUR
  return name === 'h' ? days * DAY + DAY : DAYS * DAY
}
