import { hitsOf, useAnalytics, useTimeline, type Analytics, type Totals } from '../../analytics.ts'
import { To } from '../../address.tsx'
import { Chart, type Series } from '../../parts/chart.tsx'
import { bytes, digits, number, percent } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { TopicSettings } from '../../parts/setting/topic-settings.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { Purge } from './purge.tsx'
import styles from './cache.module.css'

/** How much the cache answers, a purge, and its settings. */
export default function Cache() {
  const { may } = usePlace()
  const found = useAnalytics()
  return (
    <Page>
      <Panel title="Hits" docs="cache.html">
        <Shown read={found} what="the counts">
          {(value) => <Ratio found={value} />}
        </Shown>
      </Panel>
      <Panel title="Purge" docs="cache.html">
        {may('Cache Purge') ? <Purge /> : <Notice>Read only: needs Cache Purge.</Notice>}
      </Panel>
      <Panel title="Settings" docs="cache.html">
        {!may('Zone Settings Write') && <Notice>Read only: needs Zone Settings Write.</Notice>}
        <TopicSettings topic="Cache" />
        <p className="soft">
          <To to={{ page: 'rules', rest: ['http_request_cache_settings'] }}>Cache rules</To> change them for some
          requests.
        </p>
      </Panel>
    </Page>
  )
}

const STATES = [
  ['hit', 'Hits', '--info', hitsOf],
  ['miss', 'Misses', '--warn', ({ cache }: Totals) => (cache['miss'] ?? 0) + (cache['expired'] ?? 0)],
  ['bypass', 'Not cacheable', '--rest', ({ cache }: Totals) => (cache['bypass'] ?? 0) + (cache['dynamic'] ?? 0)],
] as const

function Ratio({ found }: { found: Analytics }) {
  const timeline = useTimeline(found)
  const { totals, points } = found
  if (totals.requests === 0) return <Empty title="No requests in this range" text="Choose a longer range at the top." />
  const series = STATES.map(([key, label, color, count]): Series => ({
    key,
    label,
    color,
    values: timeline.ratesOf(points, count),
    total: number(count(totals)),
  }))
  const [hits, misses] = STATES.map(([, , , count]) => count(totals))
  return (
    <div className={styles['ratio']}>
      <Facts
        rows={[
          ['Hit ratio', `${percent(hits, totals.requests)} of all requests`],
          ['', `${percent(hits, hits! + misses!)} of those that can be cached`],
          ['From cache', bytes(totals.cached_bytes)],
          ['From origins', bytes(totals.origin_bytes)],
        ]}
      />
      <Chart {...timeline} title="Requests/s by cache state" series={series} format={digits} isStacked height={140} />
    </div>
  )
}
