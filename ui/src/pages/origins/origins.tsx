import { useRead } from '../../api/queries.ts'
import { ms, number, percent } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { FromFile, Panel, State, Time } from '../../parts/panel.tsx'
import { Empty, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import type { Source, Zone } from '../../api/types.ts'
import { toneOf, wordOf, type Origin, type OriginTraffic } from './origin.ts'
import styles from './origins.module.css'

const EVERY_MS = 5000

interface Overview {
  readonly zones: readonly { readonly name: string; readonly origins: readonly Origin[] }[]
}
interface Analytics {
  readonly groups: readonly OriginTraffic[]
}
interface ZoneDetails extends Zone {
  readonly edged?: { readonly origin?: string | null }
}

interface Line extends Origin {
  readonly traffic: OriginTraffic | undefined
}

/** The way of a request through the zone to its origins, with the state of each origin. */
export default function Origins() {
  const { ofZone, zone } = usePlace()
  const range = useRange()
  const overview = useRead<Overview>(`${ofZone}/edged/overview`, { every: EVERY_MS })
  const traffic = useRead<Analytics>(`${ofZone}/edged/analytics?${range.query}&by=origin`, { keep: true })
  const details = useRead<ZoneDetails>(ofZone)
  return (
    <Page note={<SourceOf source={details.value?.edged_source} />}>
      <Panel title="Origins of this zone" docs="front.html#origins">
        <Shown read={overview} what="the origins">
          {({ zones }) => {
            const origins = zones.flatMap((one) => one.origins)
            if (origins.length === 0)
              return (
                <Empty
                  title="This zone has no origin"
                  text="Requests get 530 until it has one. Write an origin in the configuration file, or set one by the API."
                  docs="front.html"
                />
              )
            const rows = unique(origins).map((origin): Line => ({
              ...origin,
              traffic: traffic.value?.groups.find(({ key }) => key === origin.url),
            }))
            return (
              <>
                <Ladder zone={zone?.name ?? ''} origins={rows} />
                <DataTable label="Origins" rows={rows} columns={COLUMNS} keyOf={({ url }) => url ?? 'missing'} />
              </>
            )
          }}
        </Shown>
      </Panel>
    </Page>
  )
}

const SourceOf = ({ source }: { source: Source | null | undefined }) => (source ? <FromFile source={source} /> : null)

/** Paths of a zone can name the same origin: it is shown once. */
const unique = (origins: readonly Origin[]): readonly Origin[] => [
  ...new Map(origins.map((one) => [one.url, one])).values(),
]

const COLUMNS: readonly Column<Line>[] = [
  {
    key: 'url',
    title: 'Origin',
    cell: ({ url }) => <code>{url ?? 'none'}</code>,
    sort: ({ url }) => url ?? '',
    card: 'title',
  },
  {
    key: 'state',
    title: 'State',
    cell: ({ state }) => <State tone={toneOf(state)}>{wordOf(state)}</State>,
    card: 'state',
  },
  { key: 'since', title: 'Since', cell: ({ since }) => <Time at={since} />, card: 'fact' },
  {
    key: 'error',
    title: 'Last error',
    cell: ({ last_error: error }) => (error ? <span className="bad">{error}</span> : '–'),
    card: 'fact',
  },
  {
    key: 'requests',
    title: 'Requests',
    numeric: true,
    cell: ({ traffic }) => number(traffic?.requests ?? 0),
    sort: ({ traffic }) => traffic?.requests ?? 0,
  },
  {
    key: 'errors',
    title: '5xx',
    numeric: true,
    cell: ({ traffic }) => percent(traffic?.statuses?.['5xx'], traffic?.requests ?? 0),
    sort: ({ traffic }) => traffic?.statuses?.['5xx'] ?? 0,
  },
  {
    key: 'p95',
    title: 'p95',
    numeric: true,
    cell: ({ traffic }) => ms(traffic?.origin_ms?.p95),
    sort: ({ traffic }) => traffic?.origin_ms?.p95 ?? 0,
  },
  { key: 'flight', title: 'In flight', numeric: true, cell: ({ requests_in_flight: open }) => number(open) },
  { key: 'role', title: 'Role', cell: ({ backup, weight }) => (backup ? 'Backup' : `Weight ${weight}`) },
]

/** ":443 → shop.test → origins", as one line of boxes. */
const Ladder = ({ zone, origins }: { zone: string; origins: readonly Line[] }) => (
  <ol className={styles['ladder']} aria-label="Way of a request">
    <li>Clients</li>
    <li>{zone}</li>
    <li>
      {origins.map(({ url, state }) => (
        <State key={url} tone={toneOf(state)}>
          {url === null ? 'no origin' : url.replace(/^https?:\/\//, '')}
        </State>
      ))}
    </li>
  </ol>
)
