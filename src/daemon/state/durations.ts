import type { HistoryReader } from '../../../control/overview/services.js'
import { accountScope } from '../../history/history.js'
import { DURATIONS, quantile } from '../../history/layout.js'

const RANGE_MS = 300_000
const MAX_ZONES = 1000

/** Returns the 95th percentile of the durations of requests in the last five minutes in milliseconds, by id of the zone. */
export async function zoneDurations(
  history: Pick<HistoryReader, 'read'>,
  accounts: readonly { readonly id: string }[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const scopes = accounts.map(({ id }) => accountScope(id))
  const range = { since: now - RANGE_MS, until: now, groupPoints: false }
  const { groups } = await history.read({ scopes, ...range, by: 'zone', limit: MAX_ZONES })
  return new Map(
    groups.flatMap(({ key, row }) => {
      const p95 = quantile(row, DURATIONS, 0.95)
      return p95 === null ? [] : [[key, p95] as const]
    }),
  )
}
