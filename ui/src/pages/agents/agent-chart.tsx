import { useMemo } from 'react'
import { useParam } from '../../address.tsx'
import { groupSeries, useTimeline, type Analytics, type Totals } from '../../analytics.ts'
import { Chart } from '../../parts/chart.tsx'
import { Segments } from '../../parts/fields.tsx'
import { bytes, digits, number, short } from '../../parts/format.ts'
import styles from './agents.module.css'

interface Measure {
  readonly name: string
  readonly title: string
  readonly count: (totals: Totals) => number
  readonly total: (value: number) => string
  readonly axis: (value: number) => string
}

const MEASURES: Readonly<Record<string, Measure>> = {
  requests: {
    name: 'Requests',
    title: 'Requests/s by agent',
    count: ({ requests }) => requests,
    total: number,
    axis: digits,
  },
  tokens: {
    name: 'Tokens',
    title: 'Tokens/s of Markdown by agent',
    count: ({ markdown: { tokens } }) => tokens,
    total: short,
    axis: digits,
  },
  bytes: { name: 'Bytes', title: 'Bytes/s by agent', count: (totals) => totals.bytes, total: bytes, axis: bytes },
}

const OPTIONS = Object.entries(MEASURES).map(([key, { name }]) => [key, name] as const)

/** The first six agents and all others, on top of each other. */
export function AgentChart({ found }: { found: Analytics }) {
  const [key, setKey] = useParam('measure', 'requests')
  const { title, count, total, axis } = MEASURES[key] ?? MEASURES['requests']!
  const timeline = useTimeline(found)
  const series = useMemo(() => groupSeries(found, timeline, count, total), [found, timeline, count, total])
  return (
    <div className={styles['chart']}>
      <Chart
        {...timeline}
        title={title}
        series={series}
        format={axis}
        isStacked
        actions={<Segments label="Measure" value={key} options={OPTIONS} onChange={setKey} />}
      />
    </div>
  )
}
