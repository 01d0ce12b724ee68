import { useMemo } from 'react'
import { QUANTILES, STATUSES, useAnalytics, useTimeline, type Analytics, type Group } from '../../analytics.ts'
import { Chart } from '../../parts/chart.tsx'
import { digits, number } from '../../parts/format.ts'
import { Facts, Panel, Time } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import type { Script } from './worker.ts'
import styles from './workers.module.css'

/** Requests of a Worker over time. */
export function OverviewTab({ script }: { script: Script }) {
  const read = useAnalytics({ by: 'worker', limit: 100 })
  return (
    <>
      <Shown read={read} what="the counts">
        {(found) => {
          const group = found.groups.find(({ key }) => key === script.id)
          return group ? (
            <Charts found={found} group={group} />
          ) : (
            <p className="soft">No requests in this time. Triggers decide which requests reach the Worker.</p>
          )
        }}
      </Shown>
      <Panel title="About">
        <Facts
          rows={[
            ['Changed', <Time key="changed" at={script.modified_on} />],
            ['Created', <Time key="created" at={script.created_on} />],
            ['Handlers', script.handlers?.join(', ') || '–'],
            ['Compatibility date', script.compatibility_date ?? '–'],
            ['Static files', script.has_assets ? 'Yes' : 'No'],
            ['Uploaded with', script.last_deployed_from ?? '–'],
          ]}
        />
      </Panel>
    </>
  )
}

function Charts({ found, group }: { found: Analytics; group: Group }) {
  const timeline = useTimeline(found)
  const { statuses, durations } = useMemo(
    () => ({
      statuses: STATUSES.map(([status, color]) => ({
        key: status,
        label: status,
        color,
        values: timeline.ratesOf(group.points, (point) => point.statuses[status]),
        total: number(group.statuses[status]),
      })),
      durations: QUANTILES.map(([name, color]) => ({
        key: name,
        label: name,
        color,
        values: timeline.valuesOf(group.points, (point) => point.duration_ms[name]),
        total: digits(group.duration_ms[name] ?? 0),
      })),
    }),
    [timeline, group],
  )
  return (
    <div className={styles['halves']}>
      <Chart {...timeline} title="Requests/s by status" series={statuses} format={digits} isStacked />
      <Chart {...timeline} title="Duration, ms" series={durations} format={digits} />
    </div>
  )
}
