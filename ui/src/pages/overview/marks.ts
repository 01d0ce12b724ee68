import { useMemo } from 'react'
import type { Analytics } from '../../analytics.ts'
import { useRead } from '../../api/queries.ts'
import type { Mark } from '../../parts/chart.tsx'
import { usePlace } from '../../place.tsx'

interface Change {
  readonly at: string
  readonly action: string
  readonly object?: { readonly type: string; readonly name: string }
  readonly resource: { readonly kind: string; readonly id: string; readonly zone_id: string | null }
}

const CHANGES_MS = 30_000
const MAX_MARKS = 40

/** Kinds of changes that can change the lines of a chart, as people name them. */
const NAMES: Readonly<Record<string, string>> = {
  ruleset: 'Rules changed',
  'entry-point': 'Rules changed',
  setting: 'Setting changed',
  'worker-script': 'Worker deployed',
  script: 'Worker deployed',
  'worker-deployment': 'Worker deployed',
  deployment: 'Worker deployed',
}

/** Rule changes, deploys and restarts in the time of an answer. A token that may not read changes sees restarts alone. */
export function useMarks({ coverage, since, until }: Analytics): readonly Mark[] {
  const { ofAccount, zone } = usePlace()
  const { value } = useRead<readonly Change[]>(`${ofAccount}/edged/audit?limit=200`, { every: CHANGES_MS })
  return useMemo(() => {
    const [from, to] = [Date.parse(since), Date.parse(until)]
    const changes = (value ?? []).flatMap(({ at, resource: { kind, zone_id: id } }): Mark[] => {
      const label = NAMES[kind]
      const time = Date.parse(at)
      const isHere = time >= from && time < to && (id === null || zone === undefined || id === zone.id)
      return label !== undefined && isHere ? [{ at: time / 1000, label }] : []
    })
    const restarts = coverage
      .map(({ from: start }) => Date.parse(start))
      .filter((start) => start > from)
      .map((start): Mark => ({ at: start / 1000, label: 'edged started' }))
    return [...changes.slice(0, MAX_MARKS), ...restarts]
  }, [value, coverage, since, until, zone])
}
