import { To } from '../../address.tsx'
import { useAnalytics } from '../../analytics.ts'
import { ms } from '../../parts/format.ts'
import { Panel, State, Time, type Tone } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'

interface Origin {
  readonly url: string
  readonly state: 'up' | 'down' | 'unknown' | 'missing'
  readonly since: string | null
  readonly last_error: string | null
  readonly checked_at: string | null
  readonly backup: boolean
  readonly requests_in_flight: number
}

/** What `edged/overview` returns. */
export interface OverviewResult {
  readonly version: string
  readonly started_at: string
  readonly zones: readonly { readonly id: string; readonly name: string; readonly origins: readonly Origin[] }[]
}

type Row = Origin & { readonly zone: string; readonly p95: number | null | undefined }

const STATES: Readonly<Record<Origin['state'], readonly [Tone, string]>> = {
  up: ['ok', 'Up'],
  down: ['bad', 'Down'],
  unknown: ['off', 'Not asked yet'],
  missing: ['warn', 'No origin'],
}

const columns = (hasZones: boolean): readonly Column<Row>[] => [
  ...(hasZones
    ? [{ key: 'zone', title: 'Zone', cell: ({ zone }: Row) => <To to={{ scope: 'z', place: zone }}>{zone}</To> }]
    : []),
  {
    key: 'url',
    title: 'Origin',
    card: 'title',
    cell: ({ url, backup }) => (
      <>
        <span className="mono">{url === '' ? '–' : url}</span> {backup && <span className="soft">backup</span>}
      </>
    ),
  },
  {
    key: 'state',
    title: 'State',
    width: 240,
    card: 'state',
    cell: ({ state, since }) => (
      <>
        <State tone={STATES[state][0]}>{STATES[state][1]}</State>{' '}
        {since !== null && (
          <span className="soft">
            since <Time at={since} />
          </span>
        )}
      </>
    ),
  },
  {
    key: 'error',
    title: 'Last error',
    card: 'fact',
    cell: ({ last_error: error }) =>
      error === null ? <span className="soft">–</span> : <span title={error}>{error}</span>,
  },
  { key: 'p95', title: 'p95', width: 100, numeric: true, cell: ({ p95 }) => ms(p95) },
  {
    key: 'busy',
    title: 'In flight',
    width: 100,
    numeric: true,
    cell: ({ requests_in_flight: busy }) => busy,
  },
]

/** The origins of the zones with their state, and the time until they answer. */
export function Origins({ zones }: { zones: OverviewResult['zones'] }) {
  const { zone } = usePlace()
  const answered = useAnalytics({ by: 'origin', limit: 16, step: 86_400 }).value
  const times = new Map((answered?.groups ?? []).map(({ key, origin_ms: { p95 } }) => [key, p95]))
  const rows = zones.flatMap(({ name, origins }) =>
    origins.map((origin): Row => ({ ...origin, zone: name, p95: times.get(origin.url) })),
  )
  return (
    <Panel title="Origins" docs="front.html">
      {rows.length === 0 ? (
        <Empty title="No origin" text="Workers or folders answer everything here." />
      ) : (
        <DataTable
          label="Origins"
          rows={rows}
          columns={columns(zone === undefined)}
          keyOf={(row) => `${row.zone} ${row.url}`}
          sortParam="originSort"
        />
      )}
    </Panel>
  )
}
