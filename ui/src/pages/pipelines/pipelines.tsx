import { useQueries } from '@tanstack/react-query'
import { messageOf, sendWhole, statusOf } from '../../api/client.ts'
import type { Read } from '../../api/queries.ts'
import { useAddress, useGo } from '../../address.tsx'
import { duration, number } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Empty, Loading, Problem, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace, useZones } from '../../place.tsx'
import { PipelineSheet } from './pipeline-sheet.tsx'
import { PipelineState } from './pipeline-state.tsx'
import { keyOf, type OwnedPipeline, type Running } from './pipeline.ts'
import styles from './pipelines.module.css'

const EVERY_MS = 5000
const SELDOM_MS = 30_000
/** The API counts requests, so pipelines of further zones are not read. */
const MAX_ZONES = 60
const FEW = 10

/** Reads the pipelines of the account and of its zones, by name. */
function usePipelines(): Read<readonly OwnedPipeline[]> {
  const { account, ofAccount } = usePlace()
  const zones = useZones().value
  const owners = [
    { name: account.name, path: ofAccount },
    ...(zones ?? [])
      .filter((zone) => zone.account.id === account.id)
      .slice(0, MAX_ZONES)
      .map(({ id, name }) => ({ name, path: `/zones/${id}` })),
  ]
  const reads = useQueries({
    queries: owners.map(({ path }) => ({
      queryKey: [`${path}/edged/pipelines`],
      queryFn: async () => await sendWhole<readonly Running[]>('GET', `${path}/edged/pipelines`),
      refetchInterval: owners.length <= FEW ? EVERY_MS : SELDOM_MS,
    })),
  })
  const isSeen = reads.some(({ data }) => data !== undefined)
  const isReady = zones !== undefined && reads.every(({ data, error }) => data !== undefined || error !== null)
  const reason = reads.find(({ error }) => error !== null)?.error ?? null
  const isHidden = isSeen && statusOf(reason) === 403
  const found = reads.flatMap(({ data }, at) =>
    (data?.result ?? [])
      .filter(({ kind }) => kind === 'pipeline')
      .map((running) => ({ ...running, owner: owners[at]! })),
  )
  return {
    value: isReady && isSeen ? found.toSorted((a, b) => a.name.localeCompare(b.name)) : undefined,
    info: undefined,
    error: reason === null || isHidden ? undefined : messageOf(reason),
    status: reason === null || isHidden ? undefined : statusOf(reason),
    issues: [],
    at: Math.max(...reads.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    isLoading: !isReady,
    isOld: false,
    reload: () => reads.forEach((read) => void read.refetch()),
  }
}

const nameOf = ({ name, route }: Running): string => (route === undefined ? name : `${name} · ${route}`)

const COLUMNS: readonly Column<OwnedPipeline>[] = [
  {
    key: 'name',
    title: 'Name',
    cell: nameOf,
    sort: ({ name }) => name,
    card: 'title',
  },
  { key: 'state', title: 'State', cell: ({ state }) => <PipelineState state={state} />, card: 'state' },
  {
    key: 'flow',
    title: 'Sends',
    cell: ({ dataset, destination_conf: to }) => (
      <>
        <code>{dataset}</code> → <code>{to.split('?')[0]}</code>
      </>
    ),
    card: 'fact',
  },
  {
    key: 'delivered',
    title: 'Delivered',
    cell: ({ records_delivered: records }) => number(records),
    sort: ({ records_delivered: records }) => records,
    numeric: true,
    width: 110,
  },
  {
    key: 'lag',
    title: 'Backlog',
    cell: ({ lag_records: records, lag_seconds: seconds }) =>
      records === 0 ? 'None' : `${number(records)}, ${duration(Math.round(seconds))}`,
    sort: ({ lag_records: records }) => records,
    numeric: true,
    width: 120,
    card: 'fact',
  },
]

/** Pipelines of the configuration file, with what they have done. */
export default function Pipelines() {
  const read = usePipelines()
  const { rest } = useAddress()
  const go = useGo()
  const close = (): void => go({ rest: [] })
  const [name, route] = rest
  const open = read.value?.find((one) => one.name === name && (route === undefined || one.route === route))
  return (
    <Page note={<Badge>From the configuration file</Badge>}>
      <Panel>
        <Shown read={read} what="the pipelines">
          {(pipelines) =>
            pipelines.length === 0 ? (
              <Empty
                title="No pipelines"
                text={
                  <>
                    A pipeline reads records from a file, a queue, a zone or the network, changes them and sends them
                    on. It is a document below <code>pipelines:</code> in the configuration file.
                  </>
                }
                docs="pipelines.html"
              />
            ) : (
              <div className={styles['table']}>
                <DataTable
                  label="Pipelines"
                  rows={pipelines}
                  columns={COLUMNS}
                  keyOf={keyOf}
                  nameOf={nameOf}
                  onOpen={(one) => go({ rest: one.route === undefined ? [one.name] : [one.name, one.route] })}
                />
              </div>
            )
          }
        </Shown>
      </Panel>
      {name !== undefined && open && <PipelineSheet pipeline={open} onClose={close} />}
      {name !== undefined && !open && (
        <Sheet title={name} onClose={close}>
          <SheetBody>{read.value ? <Problem title="No pipeline with this name runs here" /> : <Loading />}</SheetBody>
        </Sheet>
      )}
    </Page>
  )
}
