import { useMemo } from 'react'
import { useRead } from '../../api/queries.ts'
import { Chart } from '../../parts/chart.tsx'
import { number } from '../../parts/format.ts'
import type { OwnedJob } from './jobs.ts'

const EVERY_MS = 30_000
const HEIGHT = 140

interface Lag {
  readonly step_seconds: number
  readonly points: readonly { readonly at: string; readonly records: number }[]
}

/** Waiting records of the last 24 hours, with the number of now at the end. */
export function LagChart({ job }: { job: OwnedJob }) {
  const { value } = useRead<Lag>(`${job.owner.path}/logpush/jobs/${job.id}/edged/lag`, { every: EVERY_MS })
  const now = job.edged.lag_records
  const drawn = useMemo(() => value && cellsOf(value, now), [value, now])
  if (!drawn || drawn.times.length < 2) return null
  return (
    <Chart
      title="Waiting records"
      times={drawn.times}
      step={drawn.step}
      range={{ from: drawn.times[0]!, to: drawn.times.at(-1)! + drawn.step }}
      series={[{ key: 'lag', label: 'Waiting', color: '--accent', values: drawn.values, total: number(now) }]}
      format={number}
      height={HEIGHT}
    />
  )
}

/** Puts the points into cells of equal length. A cell without a point has no value: the job did not run. */
function cellsOf({ step_seconds: step, points }: Lag, now: number) {
  const cells = new Map(points.map(({ at, records }) => [Math.floor(Date.parse(at) / 1000 / step) * step, records]))
  const last = Math.floor(Date.now() / 1000 / step) * step
  cells.set(last, Math.max(now, cells.get(last) ?? 0))
  const first = Math.min(...cells.keys())
  const times = Array.from({ length: (last - first) / step + 1 }, (_, at) => first + at * step)
  return { step, times, values: times.map((time) => cells.get(time) ?? null) }
}
