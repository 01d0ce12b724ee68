import { To } from '../../address.tsx'
import { hitsOf, savedOf, useAnalytics, useTimeline, type Analytics, type Group } from '../../analytics.ts'
import { bytes, ms, number, percent } from '../../parts/format.ts'
import { Panel } from '../../parts/panel.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useZones } from '../../place.tsx'

const LIMIT = 100

/** One row for each zone of the account. Zones without requests follow those with them. */
export function ZoneTable() {
  const read = useAnalytics({ by: 'zone', limit: LIMIT })
  return (
    <Panel title="Zones">
      <Shown read={read} rows={4} what="the zones">
        {(found) => <Rows found={found} />}
      </Shown>
    </Panel>
  )
}

interface Row {
  readonly id: string
  readonly name: string
  readonly group: Group | undefined
}

/** A column of numbers of a zone. */
const fact = (
  key: string,
  title: string,
  text: (group: Group) => string,
  sort: (group: Group) => number,
): Column<Row> => ({
  key,
  title,
  numeric: true,
  width: 110,
  cell: ({ group }) => (group ? text(group) : <span className="soft">–</span>),
  sort: ({ group }) => (group ? sort(group) : -1),
})

function Rows({ found }: { found: Analytics }) {
  const timeline = useTimeline(found)
  const zones = useZones().value ?? []
  const groups = new Map(found.groups.map((group) => [group.key, group]))
  const named = zones.map(({ id, name }): Row => ({ id, name, group: groups.get(id) }))
  const rows = named.toSorted((a, b) => (b.group?.requests ?? 0) - (a.group?.requests ?? 0))
  const columns: readonly Column<Row>[] = [
    {
      key: 'name',
      title: 'Zone',
      card: 'title',
      cell: ({ name }) => <To to={{ scope: 'z', place: name }}>{name}</To>,
      sort: ({ name }) => name,
    },
    {
      key: 'trend',
      title: 'Trend',
      width: 100,
      cell: ({ name, group }) =>
        group && (
          <Sparkline
            values={timeline.ratesOf(group.points, ({ requests }) => requests)}
            label={`Requests of ${name}`}
          />
        ),
    },
    {
      ...fact(
        'requests',
        'Requests',
        (group) => number(group.requests),
        (group) => group.requests,
      ),
      card: 'fact',
    },
    {
      ...fact(
        'errors',
        'Errors 5xx',
        (group) => percent(group.errors, group.requests),
        (group) => group.errors / Math.max(group.requests, 1),
      ),
      card: 'fact',
    },
    fact(
      'p95',
      'p95',
      (group) => ms(group.duration_ms.p95),
      (group) => group.duration_ms.p95 ?? -1,
    ),
    fact(
      'hits',
      'Cache hits',
      (group) => percent(hitsOf(group), group.requests),
      (group) => hitsOf(group) / Math.max(group.requests, 1),
    ),
    fact(
      'markdown',
      'Markdown',
      (group) => number(group.markdown.converted),
      (group) => group.markdown.converted,
    ),
    fact('saved', 'Saved', (group) => bytes(savedOf(group)), savedOf),
  ]
  return <DataTable label="Zones" rows={rows} columns={columns} keyOf={({ id }) => id} sortParam="zoneSort" />
}
