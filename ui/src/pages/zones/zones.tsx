import { useMemo } from 'react'
import { useList, useRead } from '../../api/queries.ts'
import { To, useAddress, useGo, useParam } from '../../address.tsx'
import type { Zone } from '../../api/types.ts'
import { useColumns } from '../../parts/columns.tsx'
import { TextField } from '../../parts/fields.tsx'
import { number, percent } from '../../parts/format.ts'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { FromFile, Panel, State, type Tone } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { useRange } from '../../range.ts'
import { AddZone } from './add-zone.tsx'
import { ZoneSheet } from './zone-sheet.tsx'
import type { Line, ZoneState } from './zone.ts'

const EVERY_MS = 10_000
export const WRITE = 'Zone Write'

/** Every zone of the account with its origins and its traffic. */
export default function Zones() {
  const { ofAccount, account, may } = usePlace()
  const range = useRange()
  const zones = useList<Zone & Line>(`/zones?account.id=${account.id}&order=name`)
  const overview = useRead<{ readonly zones: readonly ZoneState[] }>(`${ofAccount}/edged/overview`, { every: EVERY_MS })
  const traffic = useRead<{ readonly groups: readonly Line['traffic'][] }>(
    `${ofAccount}/edged/analytics?${range.query}&by=zone&limit=100`,
    { keep: true },
  )
  const [text, setText] = useParam('find')
  const { hidden, chooser } = useColumns('zones', COLUMNS)
  const { rest } = useAddress()
  const go = useGo()
  const rows = useMemo(() => {
    const states = new Map(overview.value?.zones.map((one) => [one.id, one]))
    const counts = new Map(traffic.value?.groups.map((one) => [one!.key, one]))
    return (zones.value ?? [])
      .filter(({ name }) => name.includes(text.trim().toLowerCase()))
      .map((zone): Line => ({ ...zone, origins: states.get(zone.id)?.origins ?? [], traffic: counts.get(zone.id) }))
  }, [zones.value, overview.value, traffic.value, text])
  const shown = (zones.value ?? []).find(({ id, name }) => id === rest[0] || name === rest[0])
  const open = ({ name }: Line): void => go({ rest: [name] })
  const close = (): void => go({})
  return (
    <Page
      actions={
        <>
          {chooser}
          {may(WRITE) && <NewButton label="Add zone" />}
        </>
      }
    >
      {!may(WRITE) && <Notice>Read only: needs {WRITE}.</Notice>}
      <Panel>
        <TextField
          type="search"
          label="Find a zone"
          hideLabel
          placeholder="Find a zone  /"
          value={text}
          onChange={setText}
        />
        <Shown read={zones} what="the zones">
          {() =>
            rows.length === 0 && text === '' ? (
              <Empty
                title="No zone yet"
                text="A zone is a host name that edged serves, with the server behind it."
                action={may(WRITE) && <NewButton label="Add zone" isPlain />}
                docs="getting-started.html"
              />
            ) : (
              <DataTable
                label="Zones"
                rows={rows}
                columns={COLUMNS}
                hidden={hidden}
                keyOf={({ id }) => id}
                nameOf={({ name }) => name}
                onOpen={open}
                onEdit={may(WRITE) ? open : undefined}
              />
            )
          }
        </Shown>
      </Panel>
      {rest[0] === 'new' && <AddZone onClose={close} />}
      {shown && rest[0] !== 'new' && <ZoneSheet key={shown.id} zone={shown} onClose={close} />}
    </Page>
  )
}

const WORST: readonly (readonly [state: string, tone: Tone, word: string])[] = [
  ['missing', 'bad', 'No origin'],
  ['down', 'bad', 'Down'],
  ['unknown', 'off', 'Not asked yet'],
  ['up', 'ok', 'Up'],
]

function Origins({ origins, paused }: Line) {
  if (paused) return <State tone="off">Paused</State>
  const down = origins.filter(({ state }) => state === 'down').length
  if (down > 0 && down < origins.length)
    return (
      <State tone="warn">
        {down} of {origins.length} down
      </State>
    )
  const [, tone, word] = WORST.find(([state]) => origins.some((one) => one.state === state)) ?? [
    '',
    'off' as const,
    '–',
  ]
  return <State tone={tone}>{word}</State>
}

const COLUMNS: readonly Column<Line>[] = [
  { key: 'name', title: 'Zone', cell: ({ name }) => name, sort: ({ name }) => name, card: 'title' },
  {
    key: 'origin',
    title: 'Origin',
    cell: ({ origins }) => (
      <code>
        {origins
          .map(({ url }) => url ?? 'none')
          .slice(0, 2)
          .join(', ') || '–'}
      </code>
    ),
    card: 'fact',
  },
  { key: 'state', title: 'State', cell: (line) => <Origins {...line} />, card: 'state' },
  {
    key: 'requests',
    title: 'Requests',
    numeric: true,
    cell: ({ traffic }) => number(traffic?.requests ?? 0),
    sort: ({ traffic }) => traffic?.requests ?? 0,
    card: 'fact',
  },
  {
    key: 'errors',
    title: '5xx',
    numeric: true,
    cell: ({ traffic }) => percent(traffic?.statuses['5xx'], traffic?.requests ?? 0),
    sort: ({ traffic }) => traffic?.statuses['5xx'] ?? 0,
  },
  { key: 'plan', title: 'Plan', optional: true, cell: ({ plan }) => plan?.name, sort: ({ plan }) => plan?.name ?? '' },
  { key: 'id', title: 'Id', optional: true, cell: ({ id }) => <code>{id}</code> },
  { key: 'source', title: 'From', cell: ({ edged_source: source }) => (source ? <FromFile source={source} /> : 'API') },
  {
    key: 'open',
    title: '',
    cell: ({ name }) => (
      <To to={{ scope: 'z', place: name, page: 'overview' }} aria-label={`Open ${name}`}>
        Open
      </To>
    ),
    card: 'menu',
  },
]
