import { useMemo } from 'react'
import { useRead } from '../../api/queries.ts'
import { useAddress, useGo } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { daysUntil } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Code, Facts, Panel, State, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { linesFor, type Certificate } from './certificate.ts'

const EVERY_MS = 30_000
/** Days that are left. Below the first number the state is amber, below the second it is red. */
const SOON_DAYS = 30
const URGENT_DAYS = 7

const COLUMNS: readonly Column<Certificate>[] = [
  {
    key: 'names',
    title: 'Host names',
    cell: ({ names }) => names.join(', '),
    sort: ({ names }) => names[0] ?? '',
    card: 'title',
  },
  {
    key: 'state',
    title: 'State',
    cell: (one) => <Ends {...one} />,
    sort: ({ not_after: at }) => at ?? '',
    card: 'state',
  },
  { key: 'source', title: 'From', cell: ({ source }) => SOURCES[source], card: 'fact' },
  { key: 'until', title: 'Valid until', cell: ({ not_after: at }) => <Time at={at} />, card: 'fact' },
  { key: 'next', title: 'Next order', cell: ({ next_order: at }) => <Time at={at} /> },
  {
    key: 'fault',
    title: 'Problem',
    cell: ({ error, why }) => ((error ?? why) ? <span className="bad">{error ?? why}</span> : '–'),
  },
]

const SOURCES = { acme: 'ACME', file: 'file', missing: '–' } as const

/** Certificates of the host names of a zone: missing ones, ones that end soon, and the lines to write. */
export default function Certificates() {
  const { ofZone, zone } = usePlace()
  const read = useRead<readonly Certificate[]>(`${ofZone}/edged/certificates`, { every: EVERY_MS })
  const { rest } = useAddress()
  const go = useGo()
  const rows = useMemo(() => [...(read.value ?? [])].sort((a, b) => rank(a) - rank(b)), [read.value])
  const missing = rows.filter(({ source }) => source === 'missing').flatMap(({ names }) => names)
  const [open] = rest
  const shown = rows.find(({ names }) => names[0] === open)
  return (
    <Page>
      {missing.length > 0 && (
        <Notice kind="bad" action={<Button onClick={() => go({ rest: ['missing'] })}>Show the lines to write</Button>}>
          No certificate: {missing.join(', ')}
        </Notice>
      )}
      <Panel title="Host names and their certificates" docs="front.html#certificates">
        <Shown read={read} what="the certificates">
          {() =>
            rows.length === 0 ? (
              <Empty
                title="HTTPS is off"
                text="A section proxy.tls in the configuration file switches it on, with your own certificates or with ACME."
                action={<Button onClick={() => go({ rest: ['missing'] })}>Show the lines to write</Button>}
                docs="front.html"
              />
            ) : (
              <DataTable
                label="Certificates"
                rows={rows}
                columns={COLUMNS}
                keyOf={({ names }) => names.join(' ')}
                nameOf={({ names }) => names.join(', ')}
                onOpen={({ names, source }) => go({ rest: [source === 'missing' ? 'missing' : (names[0] ?? '')] })}
              />
            )
          }
        </Shown>
      </Panel>
      {open === 'missing' && (
        <Sheet title={missing.length > 0 ? 'Give these names a certificate' : 'Switch HTTPS on'} onClose={() => go({})}>
          <SheetBody>
            <p>
              With ACME, edged orders certificates and renews them. Port 80 or 443 of this machine has to be reachable.
            </p>
            <Code label="Lines for ACME" text={linesFor('acme', missing)} />
            <p>Or name files of your own. edged reads them again when they change.</p>
            <Code label="Lines for files" text={linesFor('file', missing)} />
            <p>
              Then run <code>edged reload</code>.{' '}
              <a href="/docs/front.html" target="_blank" rel="noreferrer">
                Read more
              </a>
            </p>
          </SheetBody>
        </Sheet>
      )}
      {shown && (
        <Sheet title={shown.names.join(', ')} onClose={() => go({})}>
          <SheetBody>
            <Facts
              rows={[
                ['State', <Ends key="state" {...shown} />],
                ['From', SOURCES[shown.source]],
                ['Valid from', <Time key="from" at={shown.not_before} />],
                ['Valid until', <Time key="until" at={shown.not_after} />],
                ['Next order', <Time key="next" at={shown.next_order} />],
                ['Failed orders', String(shown.failures)],
                shown.error === null
                  ? undefined
                  : [
                      'Last error',
                      <span key="error" className="bad">
                        {shown.error}
                      </span>,
                    ],
                ['Zone', zone?.name],
              ]}
            />
          </SheetBody>
        </Sheet>
      )}
    </Page>
  )
}

const rank = ({ source, not_after: at }: Certificate): number =>
  source === 'missing' ? -Infinity : at === null ? -1 : Date.parse(at)

function Ends({ not_after: at, source }: Certificate) {
  if (source === 'missing') return <State tone="bad">No certificate</State>
  if (at === null) return <State tone="warn">Not ordered yet</State>
  const days = daysUntil(at)
  if (days < 0) return <State tone="bad">Expired</State>
  const tone = days < URGENT_DAYS ? 'bad' : days < SOON_DAYS ? 'warn' : 'ok'
  return <State tone={tone}>{days === 1 ? '1 day' : `${days} days`}</State>
}
