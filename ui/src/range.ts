import { useEffect, useMemo, useState } from 'react'
import { useAddress } from './address.tsx'
import { when } from './parts/format.ts'

export const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Ranges that the picker offers, by their value of `range` in the address. */
export const RANGES: Readonly<Record<string, { readonly name: string; readonly ms: number }>> = {
  '15m': { name: 'Last 15 minutes', ms: 15 * MINUTE_MS },
  '1h': { name: 'Last hour', ms: HOUR_MS },
  '24h': { name: 'Last 24 hours', ms: 24 * HOUR_MS },
  '7d': { name: 'Last 7 days', ms: 168 * HOUR_MS },
  '30d': { name: 'Last 30 days', ms: 720 * HOUR_MS },
}
export const DEFAULT_RANGE = '1h'

/** A range of times. Ends of moving ranges are rounded, so that parts of a page share their requests. */
export interface Range {
  /** `1h`, or `custom`. */
  readonly key: string
  readonly name: string
  readonly since: Date
  readonly until: Date
  /** The range ends now. */
  readonly isMoving: boolean
  /** `since=...&until=...` for paths of the API. `until` is left out of ranges that end now. */
  readonly query: string
  /** How often a page that shows the range reads again, in milliseconds. Undefined for ranges in the past. */
  readonly every: number | undefined
}

const roundingOf = (ms: number): number => (ms <= HOUR_MS ? 10_000 : MINUTE_MS)

/** Returns the range in the address. It moves on with time. */
export function useRange(): Range {
  const { search } = useAddress()
  const { since, until } = search
  const key = since && until ? 'custom' : search['range'] && RANGES[search['range']] ? search['range'] : DEFAULT_RANGE
  const ms = RANGES[key]?.ms ?? 0
  useTick(key === 'custom' ? undefined : roundingOf(ms))
  const rounded = Math.floor(Date.now() / roundingOf(ms)) * roundingOf(ms)
  return useMemo(() => {
    if (key === 'custom') {
      const query = `since=${encodeURIComponent(since!)}&until=${encodeURIComponent(until!)}`
      return {
        key,
        name: `${when(since)} to ${when(until)}`,
        since: new Date(since!),
        until: new Date(until!),
        isMoving: false,
        query,
        every: undefined,
      }
    }
    // Never longer than its name says: longer ranges have longer cells.
    const from = new Date(rounded + roundingOf(ms) - ms)
    return {
      key,
      name: RANGES[key]!.name,
      since: from,
      until: new Date(rounded),
      isMoving: true,
      query: `since=${from.toISOString()}`,
      every: roundingOf(ms),
    }
  }, [key, since, until, rounded, ms])
}

/** Draws again each time that a rounded range moves on, unless nobody sees the page. */
function useTick(every: number | undefined): void {
  const [, setCount] = useState(0)
  useEffect(() => {
    if (every === undefined) return
    const timer = setInterval(() => {
      if (!document.hidden) setCount((count) => count + 1)
    }, every)
    return () => clearInterval(timer)
  }, [every])
}
