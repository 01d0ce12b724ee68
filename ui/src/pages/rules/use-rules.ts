import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sendWhole, messageOf, statusOf } from '../../api/client.ts'
import { useRead, type Read } from '../../api/queries.ts'
import { usePlace } from '../../place.tsx'
import { ruleOfKey, type RuleCount } from './active-rules.ts'
import { PHASES, phaseNamed, type PhaseRow } from './phases.ts'
import type { Ruleset } from './rule.ts'

const PER_PAGE = 1000
const DAY_SECONDS = 86_400
const HOUR_SECONDS = 3600
const COUNTS_MS = 10_000

/** The entry points of a zone or account by their phase. */
export type EntryPoints = ReadonlyMap<string, Ruleset>

const NONE: EntryPoints = new Map()

/** Reads the rules of every phase of an account or zone. `base`: the beginning of its paths. */
export function useEntryPoints(base: string | undefined, kind: 'zone' | 'root'): Read<EntryPoints> {
  const list = useRead<readonly Ruleset[]>(base === undefined ? undefined : `${base}/rulesets?per_page=${PER_PAGE}`)
  const entries = (list.value ?? []).filter((one) => one.kind === kind)
  const whole = useQueries({
    queries: entries.map(({ id }) => ({
      queryKey: [`${base}/rulesets/${id}`],
      queryFn: async () => await sendWhole<Ruleset>('GET', `${base}/rulesets/${id}`),
    })),
    combine: (found) => ({
      rulesets: found.flatMap(({ data }) => (data ? [data.result] : [])),
      isWhole: found.every(({ data }) => data !== undefined),
      failure: found.find(({ error }) => error !== null)?.error ?? undefined,
      reload: () => found.forEach((one) => void one.refetch()),
    }),
  })
  const value = useMemo(() => new Map(whole.rulesets.map((one) => [one.phase, one])), [whole.rulesets])
  const isRead = list.value !== undefined && whole.isWhole
  return {
    ...list,
    value: isRead ? (value.size === 0 ? NONE : value) : undefined,
    error: list.error ?? (whole.failure === undefined ? undefined : messageOf(whole.failure)),
    status: list.status ?? statusOf(whole.failure),
    reload: () => {
      list.reload()
      whole.reload()
    },
  }
}

/** Phases to show: those of the level, and others that have rules. */
export const phasesFor = (level: 'zone' | 'account', entries: EntryPoints): readonly PhaseRow[] => [
  ...PHASES.filter(({ levels }) => levels.includes(level)),
  ...[...entries.keys()].filter((name) => !PHASES.some((one) => one.name === name)).map(phaseNamed),
]

/** How often a rule acted. */
export interface Hits {
  /** In the last 24 hours, if the history has it. */
  readonly day: number
  readonly hours: readonly number[]
  readonly failures: number
}

interface Analytics {
  readonly groups: readonly {
    readonly key: string
    readonly requests: number
    readonly points: readonly { readonly requests: number }[]
  }[]
}

/** Reads how often each rule acted, by its id. */
export function useHits(): ReadonlyMap<string, Hits> {
  const { zone, ofZone, ofAccount } = usePlace()
  const base = zone ? ofZone : ofAccount
  const counts = useRead<readonly RuleCount[]>(`${base}/edged/rules/counts`, { every: COUNTS_MS })
  const hour = Math.floor(Date.now() / 1000 / HOUR_SECONDS) * HOUR_SECONDS
  const since = new Date((hour - DAY_SECONDS + HOUR_SECONDS) * 1000).toISOString()
  const days = useRead<Analytics>(`${base}/edged/analytics?since=${since}&step=${HOUR_SECONDS}&by=rule&limit=100`, {
    keep: true,
    every: COUNTS_MS,
  })
  return useMemo(() => {
    const hits = new Map<string, Hits>()
    for (const { rule_id: id, failures } of counts.value ?? []) hits.set(id, { day: 0, hours: [], failures })
    for (const { key, requests, points } of days.value?.groups ?? []) {
      const id = ruleOfKey(key)
      hits.set(id, {
        day: requests,
        hours: points.map((point) => point.requests),
        failures: hits.get(id)?.failures ?? 0,
      })
    }
    return hits
  }, [counts.value, days.value])
}
