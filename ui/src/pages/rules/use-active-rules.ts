import { useMemo } from 'react'
import type { Analytics } from '../../analytics.ts'
import { useRead } from '../../api/queries.ts'
import { usePlace } from '../../place.tsx'
import { activeRules, type ActiveRules, type RuleCount } from './active-rules.ts'

const DAY_SECONDS = 86_400
const DAYS = 7

/** Reads the rules that have acted in the last 7 days. Undefined while they are read, or not wanted. */
export function useActiveRules(isWanted: boolean): ActiveRules | undefined {
  const { zone, ofZone, ofAccount } = usePlace()
  const base = zone ? ofZone : ofAccount
  const day = Math.floor(Date.now() / 1000 / DAY_SECONDS)
  const since = (day - DAYS) * DAY_SECONDS * 1000
  const query = `since=${new Date(since).toISOString()}&step=${DAY_SECONDS}&by=rule&limit=100`
  const found = useRead<Analytics>(isWanted ? `${base}/edged/analytics?${query}` : undefined).value
  const counts = useRead<readonly RuleCount[]>(isWanted ? `${base}/edged/rules/counts` : undefined).value
  return useMemo(
    () => (isWanted && found && counts ? activeRules(found, counts, since) : undefined),
    [isWanted, found, counts, since],
  )
}
