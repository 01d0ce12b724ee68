import { useMemo } from 'react'
import { useAnalytics, useTimeline, type Analytics, type Group } from '../../analytics.ts'
import { useRead } from '../../api/queries.ts'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { TextField } from '../../parts/fields.tsx'
import { ms, number, percent } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Badge, Panel, Time } from '../../parts/panel.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { Empty, Problem, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { UploadSheet } from './upload-sheet.tsx'
import { WorkerPage } from './worker-page.tsx'
import type { Script } from './worker.ts'

const EVERY_MS = 15_000
/** Workers whose counts the list has. */
const COUNTED = 100
/** Shorter lists need no search. */
const FEW = 8

/** Scripts that answer requests: a list, and a page for each. */
export default function Workers() {
  const { ofAccount, may } = usePlace()
  const { rest } = useAddress()
  const [upload, setUpload] = useParam('upload')
  const read = useRead<readonly Script[]>(`${ofAccount}/workers/scripts`, { every: EVERY_MS })
  const mayWrite = may('Workers Scripts Write')
  const [name] = rest
  const script = read.value?.find(({ id }) => id === name)
  if (name !== undefined && script) return <WorkerPage key={name} script={script} mayWrite={mayWrite} />
  const open = (): void => setUpload('new')
  return (
    <Page
      note={!mayWrite && <Badge>Read only: needs Workers Scripts Write</Badge>}
      actions={
        mayWrite && (
          <Button kind="primary" icon="upload" onClick={open}>
            Upload a Worker
          </Button>
        )
      }
    >
      <Panel>
        <Shown read={read} what="the Workers">
          {(scripts) =>
            name !== undefined ? (
              <Problem title="No Worker with this name, or this token cannot see it" />
            ) : scripts.length === 0 ? (
              <Empty
                title="No Workers"
                text="A Worker is a script that answers requests of your zones, runs by a schedule or reads a queue. Upload one here, or with wrangler deploy."
                docs="workers.html"
                action={
                  mayWrite && (
                    <Button kind="primary" onClick={open}>
                      Upload a Worker
                    </Button>
                  )
                }
              />
            ) : (
              <List scripts={scripts} />
            )
          }
        </Shown>
      </Panel>
      {upload === 'new' && mayWrite && <UploadSheet onClose={() => setUpload(undefined)} />}
    </Page>
  )
}

function List({ scripts }: { scripts: readonly Script[] }) {
  const go = useGo()
  const [search, setSearch] = useParam('q')
  const counts = useAnalytics({ by: 'worker', limit: COUNTED }).value
  const groups = useMemo(() => new Map(counts?.groups.map((group) => [group.key, group])), [counts])
  const shown = scripts.filter(({ id }) => id.toLowerCase().includes(search.toLowerCase()))
  const of = ({ id }: Script): Group | undefined => groups.get(id)
  const columns: readonly Column<Script>[] = [
    { key: 'name', title: 'Name', cell: ({ id }) => id, sort: ({ id }) => id, card: 'title' },
    {
      key: 'requests',
      title: 'Requests',
      cell: (script) => number(of(script)?.requests ?? 0),
      sort: (script) => of(script)?.requests ?? 0,
      numeric: true,
      width: 110,
      card: 'fact',
    },
    {
      key: 'trend',
      title: '',
      cell: (script) => <Trend found={counts} group={of(script)} name={script.id} />,
      width: 110,
    },
    {
      key: 'errors',
      title: 'Errors',
      cell: (script) => percent(of(script)?.errors, of(script)?.requests ?? 0),
      sort: (script) => (of(script)?.errors ?? 0) / (of(script)?.requests || 1),
      numeric: true,
      width: 96,
      card: 'fact',
    },
    {
      key: 'p95',
      title: 'p95',
      cell: (script) => ms(of(script)?.duration_ms.p95),
      sort: (script) => of(script)?.duration_ms.p95 ?? 0,
      numeric: true,
      width: 96,
    },
    { key: 'handlers', title: 'Handlers', cell: ({ handlers = [] }) => handlers.join(', ') || '–' },
    {
      key: 'changed',
      title: 'Changed',
      cell: ({ modified_on: at }) => <Time at={at} />,
      sort: ({ modified_on: at }) => at,
      width: 130,
    },
  ]
  return (
    <>
      {scripts.length > FEW && (
        <TextField
          label="Find a Worker"
          hideLabel
          type="search"
          placeholder="Find a Worker"
          value={search}
          onChange={setSearch}
        />
      )}
      <DataTable
        label="Workers"
        rows={shown}
        columns={columns}
        keyOf={({ id }) => id}
        nameOf={({ id }) => id}
        onOpen={({ id }) => go({ rest: [id] })}
      />
    </>
  )
}

const Trend = ({ found, group, name }: { found: Analytics | undefined; group: Group | undefined; name: string }) =>
  found && group ? <TrendLine found={found} group={group} name={name} /> : null

function TrendLine({ found, group, name }: { found: Analytics; group: Group; name: string }) {
  const { ratesOf } = useTimeline(found)
  return <Sparkline values={ratesOf(group.points, ({ requests }) => requests)} label={`Requests of ${name}`} />
}
