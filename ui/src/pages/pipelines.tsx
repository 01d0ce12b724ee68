import { useRead } from '../hooks.ts'
import { Badge, bytes, Loaded, Panel } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'

/** A pipeline or job that runs. */
export interface Running {
  readonly kind: 'pipeline' | 'job'
  readonly name: string
  readonly dataset: string
  readonly source: string
  readonly destination_conf: string
  readonly state: 'running' | 'failing' | 'waiting' | 'ended'
  readonly error_message: string | null
  readonly records_read: number
  readonly records_invalid: number
  readonly records_delivered: number
  readonly records_dropped: number
  readonly delivered_bytes: number
  readonly lag_records: number
  readonly lag_seconds: number
  readonly batches_in_flight: number
}

/** Pipelines of the configuration, and jobs, with what they have done. */
export function Pipelines() {
  const { ofAccount, ofZone } = usePlace()
  return (
    <>
      <Panel title="Of the account">
        <List
          path={`${ofAccount}/edged/pipelines`}
          empty="Nothing runs for the account. Pipelines are documents below pipelines: in the configuration; jobs are created on the page Log push."
        />
      </Panel>
      {ofZone && (
        <Panel title="Of the zone">
          <List
            path={`${ofZone}/edged/pipelines`}
            empty="Nothing runs for the zone. A pipeline with source: { zone: ID } in the configuration runs here, and so do jobs of the page Log push."
          />
        </Panel>
      )}
    </>
  )
}

function List({ path, empty }: { path: string; empty: string }) {
  const read = useRead<readonly Running[]>(path, 5000)
  return (
    <Loaded read={read}>
      {(running) => (
        <Table
          caption="Pipelines and jobs"
          textOf={({ kind, name, destination_conf: to }) => `${kind} ${name} ${to}`}
          rows={running}
          empty={empty}
          columns={[
            ['Name', ({ kind, name }) => `${kind} ${name}`],
            ['Dataset', ({ dataset }) => dataset],
            ['Destination', ({ destination_conf: to }) => <code>{to}</code>],
            ['State', ({ state }) => <Badge good={state === 'running' || state === 'ended'}>{state}</Badge>],
            ['Read', (one) => one.records_read.toLocaleString()],
            ['Delivered', (one) => `${one.records_delivered.toLocaleString()} (${bytes(one.delivered_bytes)})`],
            ['Dropped', (one) => one.records_dropped.toLocaleString()],
            ['Invalid', (one) => one.records_invalid.toLocaleString()],
            ['Lag', (one) => `${one.lag_records.toLocaleString()} records, ${Math.round(one.lag_seconds)} s`],
            ['In flight', (one) => one.batches_in_flight],
            ['Error', ({ error_message: error }) => error && <span class="bad">{error}</span>],
          ]}
        />
      )}
    </Loaded>
  )
}
