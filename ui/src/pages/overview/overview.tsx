import { useRead } from '../../api/queries.ts'
import { useAnalytics, type Analytics } from '../../analytics.ts'
import { Page } from '../../parts/page.tsx'
import { Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import { Attention } from './attention.tsx'
import { Cards } from './cards.tsx'
import { Charts } from './charts.tsx'
import { Origins, type OverviewResult } from './origins.tsx'
import { TopAgents, TopPaths } from './top.tsx'
import { ZoneTable } from './zone-table.tsx'
import styles from './overview.module.css'

const ORIGINS_MS = 10_000

/** Is it well, and what changed. */
export default function Overview() {
  const { zone, ofZone, ofAccount } = usePlace()
  const read = useAnalytics()
  const origins = useRead<OverviewResult>(`${zone ? ofZone : ofAccount}/edged/overview`, { every: ORIGINS_MS })
  return (
    <Page>
      <div className={styles['page']}>
        <Attention />
        <Shown read={read} rows={12} what="the counts of requests">
          {(found) => <Counts found={found} />}
        </Shown>
        {!zone && <ZoneTable />}
        <Shown read={origins} rows={3} what="the origins">
          {({ zones }) => <Origins zones={zones} />}
        </Shown>
        {zone && (
          <div className={styles['halves']}>
            <TopAgents />
            <TopPaths />
          </div>
        )}
      </div>
    </Page>
  )
}

function Counts({ found }: { found: Analytics }) {
  const range = useRange()
  return (
    <div className={styles['page']}>
      {found.machines === 'this' && found.coverage.length === 0 && (
        <Notice>
          edged did not run in this time, or keeps no history (<code>history: false</code>).
        </Notice>
      )}
      <Cards found={found} range={range} />
      <Charts found={found} />
    </div>
  )
}
