import { useMemo } from 'react'
import {
  hitsOf,
  QUANTILES,
  STATUSES,
  useTimeline,
  type Analytics,
  type Timeline,
  type Totals,
} from '../../analytics.ts'
import { bytes, digits, ms, number, percent } from '../../parts/format.ts'
import { Chart, type Series } from '../../parts/chart.tsx'
import { useMarks } from './marks.ts'
import styles from './overview.module.css'

const inPercent = (value: number): string => percent(value, 100)

/** The four charts of the page. Their crosshairs move together. */
export function Charts({ found }: { found: Analytics }) {
  const timeline = useTimeline(found)
  const marks = useMarks(found)
  const lines = useMemo(() => linesOf(found, timeline), [found, timeline])
  const shared = { ...timeline, marks }
  return (
    <div className={styles['halves']}>
      <Chart {...shared} title="Requests/s by status" series={lines.statuses} format={digits} isStacked />
      <Chart {...shared} title="Duration, ms" series={lines.durations} format={digits} />
      <Chart {...shared} title="Cache hits and Markdown, % of requests" series={lines.shares} format={inPercent} />
      <Chart {...shared} title="Bytes/s to clients and from origins" series={lines.bytes} format={bytes} />
    </div>
  )
}

interface Lines {
  readonly statuses: readonly Series[]
  readonly durations: readonly Series[]
  readonly shares: readonly Series[]
  readonly bytes: readonly Series[]
}

function linesOf({ points, totals }: Analytics, { ratesOf, valuesOf }: Timeline): Lines {
  const share = (part: (point: Totals) => number) => ({
    values: valuesOf(points, (point) => (point.requests === 0 ? null : (100 * part(point)) / point.requests)),
    total: percent(part(totals), totals.requests),
  })
  const rate = (count: (point: Totals) => number) => ({ values: ratesOf(points, count), total: bytes(count(totals)) })
  return {
    statuses: STATUSES.map(([status, color]) => ({
      key: status,
      label: status,
      color,
      values: ratesOf(points, ({ statuses }) => statuses[status]),
      total: number(totals.statuses[status]),
    })),
    durations: QUANTILES.map(([name, color]) => ({
      key: name,
      label: name,
      color,
      values: valuesOf(points, ({ duration_ms: times }) => times[name]),
      total: ms(totals.duration_ms[name]),
    })),
    shares: [
      { key: 'hits', label: 'Cache hits', color: '--info', ...share(hitsOf) },
      { key: 'markdown', label: 'Markdown', color: '--ok', ...share(({ markdown }) => markdown.converted) },
    ],
    bytes: [
      { key: 'clients', label: 'To clients', color: '--accent', ...rate((point) => point.bytes) },
      { key: 'origins', label: 'From origins', color: '--c3', ...rate((point) => point.origin_bytes) },
    ],
  }
}
