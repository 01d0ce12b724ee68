import { useMemo, useState } from 'react'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { useColumns } from '../../parts/columns.tsx'
import { count, number, when } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import { FilterBar } from './filter-bar.tsx'
import { columnsFor, RequestList } from './list.tsx'
import { RequestSheet } from './request-sheet.tsx'
import type { RequestItem } from './types.ts'
import { useFilters, type FilterState } from './use-filters.ts'
import { useLive, type Live } from './use-live.ts'
import styles from './requests.module.css'

const FIRST = 100
const MORE = 300
const MAX = 1000

/** The last requests, live and stored, newest first. */
export default function Requests() {
  const { zone, ofZone } = usePlace()
  const { rest } = useAddress()
  const range = useRange()
  const state = useFilters()
  const [limit, setLimit] = useState(FIRST)
  const [isHeld, setHeld] = useState(false)
  const [live, setLive] = useParam('live', 'on')
  const isOn = live === 'on' && range.isMoving
  const query = state.expression === undefined ? '' : `&filter=${encodeURIComponent(state.expression)}`
  const read = useRead<readonly RequestItem[]>(`${ofZone}/edged/requests?${range.query}&limit=${limit}${query}`, {
    keep: true,
  })
  const columns = columnsFor(state.set, zone!.name)
  const { hidden, chooser } = useColumns('requests', columns)
  const now = useLive({ expression: state.expression, isOn, isHeld: isHeld || rest.length > 0 })
  return (
    <Page
      actions={
        <>
          <LiveButton
            live={now}
            isOn={isOn}
            isPossible={range.isMoving}
            onToggle={() => setLive(isOn ? 'off' : 'on')}
          />
          {chooser}
        </>
      }
    >
      <Panel>
        <FilterBar state={state} />
        {now.reason !== undefined && (
          <Notice kind="warn" action={<Button onClick={now.again}>Go live again</Button>}>
            Not live: {now.reason}.
          </Notice>
        )}
        <div
          className={styles['list']}
          onPointerEnter={(event) => event.pointerType === 'mouse' && setHeld(true)}
          onPointerLeave={() => setHeld(false)}
        >
          <Shown read={read} rows={10} what="the requests">
            {(stored) => (
              <Rows
                stored={stored}
                columns={columns}
                hidden={hidden}
                live={now}
                state={state}
                isWhole={stored.length < limit}
                onMore={limit < MAX ? () => setLimit(Math.min(limit + MORE, MAX)) : undefined}
                onRelease={() => setHeld(false)}
              />
            )}
          </Shown>
        </div>
      </Panel>
      {rest[0] !== undefined && <RequestSheet ray={rest[0]} />}
    </Page>
  )
}

/** Requests of the session are also stored: each is shown once. */
function joined(live: readonly RequestItem[], stored: readonly RequestItem[]): readonly RequestItem[] {
  if (live.length === 0) return stored
  const known = new Set(live.map(({ ray_id: ray }) => ray))
  return [...live, ...stored.filter(({ ray_id: ray }) => !known.has(ray))].toSorted((a, b) => (a.at < b.at ? 1 : -1))
}

function Rows({
  stored,
  columns,
  hidden,
  live,
  state,
  isWhole,
  onMore,
  onRelease,
}: {
  stored: readonly RequestItem[]
  columns: ReturnType<typeof columnsFor>
  hidden: readonly string[]
  live: Live
  state: FilterState
  isWhole: boolean
  onMore: (() => void) | undefined
  onRelease: () => void
}) {
  const go = useGo()
  const { search } = useAddress()
  const range = useRange()
  const rows = useMemo(() => joined(live.rows, stored), [live.rows, stored])
  if (rows.length === 0) return <Nothing state={state} />
  const interval = Math.max(...rows.map(({ sample_interval: every }) => every))
  return (
    <>
      <p className={styles['note']}>
        <span>
          {count(rows.length, 'request')} since {when(rows.at(-1)!.at)}
          {!isWhole && ', the newest ones'}
        </span>
        {interval > 1 && (
          <span className="soft">Kept: all errors, rule hits and agents, and 1 in {number(interval)} of the rest.</span>
        )}
        {live.waiting > 0 && (
          <Button size="small" icon="arrow-up" onClick={onRelease}>
            {live.waiting} new
          </Button>
        )}
      </p>
      <RequestList
        rows={rows}
        columns={columns}
        hidden={hidden}
        onOpen={({ ray_id: ray }) => go({ rest: [ray], search })}
      />
      {!isWhole && (
        <div className={styles['more']}>
          {onMore ? (
            <Button onClick={onMore}>Show more</Button>
          ) : (
            <span className="soft">
              These are the newest {number(MAX)} of {range.name.toLowerCase()}. Narrow the range or the filters to see
              older ones.
            </span>
          )}
        </div>
      )}
    </>
  )
}

function Nothing({ state }: { state: FilterState }) {
  if (state.count > 0)
    return (
      <Empty
        title="No request fits these filters"
        text="Requests that are sampled out or too old are not kept."
        action={<Button onClick={state.clear}>Clear filters</Button>}
      />
    )
  return (
    <Empty
      title="No request in this time"
      text="Requests appear here when edged has answered them. It keeps the last 100,000 of each zone."
      docs="history.html"
    />
  )
}

function LiveButton({
  live,
  isOn,
  isPossible,
  onToggle,
}: {
  live: Live
  isOn: boolean
  isPossible: boolean
  onToggle: () => void
}) {
  const text = live.state === 'live' ? 'Live' : live.state === 'starting' ? 'Starting…' : 'Go live'
  return (
    <span className={styles['live']} data-live={live.state === 'live' || undefined}>
      <Button
        aria-pressed={isOn}
        disabled={!isPossible}
        title={
          isPossible ? 'New requests appear as they come. The list waits below the pointer.' : 'This range is over'
        }
        onClick={onToggle}
      >
        <span aria-hidden="true">●</span> {text}
      </Button>
    </span>
  )
}
