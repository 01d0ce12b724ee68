import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { To } from '../../address.tsx'
import { post } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { useCheck } from '../../parts/expression/use-language.ts'
import { number } from '../../parts/format.ts'
import { usePlace } from '../../place.tsx'
import styles from './rules.module.css'

const FRESH_MS = 30_000

interface DryRun {
  readonly matched: number
  readonly examined: number
  readonly since: string
  readonly statuses: Readonly<Record<string, number>>
  readonly samples: readonly string[]
}

/** Counts the last requests of the zone, or of all zones of the account. Undefined while the expression is not valid. */
export function useDryRun(phase: string, expression: string): DryRun | undefined {
  const { zone, ofZone, ofAccount } = usePlace()
  const owner = zone ? ofZone : ofAccount
  const check = useCheck(expression, phase)
  const { data } = useQuery({
    queryKey: ['dry-run', owner, phase, expression],
    queryFn: async () => await post<DryRun>(`${owner}/edged/rules/dry-run`, { phase, expression }),
    enabled: check?.checked.valid === true,
    retry: false,
    staleTime: FRESH_MS,
  })
  return data
}

/** `Would have matched 37 of 12,402 requests in the last hour · 35 × 404`. */
export function DryRunLine({ run }: { run: DryRun | undefined }) {
  const [isOpen, setOpen] = useState(false)
  const { zone } = usePlace()
  if (!run) return <p className={styles['dryRun']} aria-live="polite" />
  const { matched, examined, statuses, samples } = run
  const shown = Object.entries(statuses).sort(([, a], [, b]) => b - a)
  const text =
    examined === 0
      ? 'No requests in the last hour to compare with.'
      : `Would have matched ${number(matched)} of ${number(examined)} requests in the last hour`
  return (
    <div className={styles['dryRun']} aria-live="polite">
      <p>
        {text}
        {shown.length > 0 &&
          ` · ${shown
            .slice(0, 3)
            .map(([status, times]) => `${number(times)} × ${status}`)
            .join(', ')}`}{' '}
        {zone && samples.length > 0 && (
          <Button kind="quiet" size="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide' : 'Show'}
          </Button>
        )}
      </p>
      {isOpen && (
        <ul className={styles['samples']}>
          {samples.map((ray) => (
            <li key={ray}>
              <To to={{ page: 'requests', rest: [ray] }}>{ray}</To>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

/** The share of requests beyond which a rule asks before it is stored. */
const MANY = 0.5

export const isWide = (run: DryRun | undefined): run is DryRun =>
  run !== undefined && run.examined > 0 && run.matched / run.examined > MANY
