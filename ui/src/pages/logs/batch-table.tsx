import { bytes, ms, number } from '../../parts/format.ts'
import { State, Time } from '../../parts/panel.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { reasonOf, type Batch } from './jobs.ts'

const COLUMNS: readonly Column<Batch>[] = [
  { key: 'at', title: 'Time', cell: ({ at }) => <Time at={at} />, width: 110, card: 'title' },
  { key: 'status', title: 'Result', cell: (batch) => <Result batch={batch} />, card: 'state' },
  { key: 'records', title: 'Records', cell: ({ records }) => number(records), numeric: true, width: 96, card: 'fact' },
  { key: 'bytes', title: 'Size', cell: (batch) => bytes(batch.bytes), numeric: true, width: 96 },
  { key: 'ms', title: 'Duration', cell: (batch) => ms(batch.ms), numeric: true, width: 96, card: 'fact' },
]

function Result({ batch: { status, error } }: { batch: Batch }) {
  if (status === 'delivered') return <State tone="ok">Delivered</State>
  if (status === 'set_aside')
    return <State tone="warn">Dead letters{error === null ? '' : `: ${reasonOf(error)}`}</State>
  return <State tone="bad">{error === null ? 'Failed' : reasonOf(error)}</State>
}

/** The last attempts to deliver, newest first. */
export function BatchTable({ batches }: { batches: readonly Batch[] }) {
  if (batches.length === 0) return <p className="soft">No batch since the start of the daemon.</p>
  return (
    <DataTable
      label="Batches"
      rows={batches}
      columns={COLUMNS}
      keyOf={({ at, status, records }) => `${at} ${status} ${records}`}
      sortParam="batches"
    />
  )
}
