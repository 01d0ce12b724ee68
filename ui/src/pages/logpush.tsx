import { useState } from 'preact/hooks'
import { post, put, remove } from '../api.ts'
import { useRead, useWork, type Read } from '../hooks.ts'
import { Badge, Choice, Loaded, Panel, Problem, TextField, Time, Toggle } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'
import { NewJob } from './new-job.tsx'
import { Tail } from './tail.tsx'
import type { Running } from './pipelines.tsx'

interface Job {
  readonly id: number
  readonly name: string | null
  readonly dataset: string
  readonly enabled: boolean
  readonly max_upload_interval_seconds?: number | null
  readonly last_complete: string | null
  readonly last_error: string | null
  readonly error_message: string | null
}

/** The destination of a job, without secrets. */
interface Destination {
  readonly id: number
  readonly destination_conf: string
}

/** Jobs of a zone or its account with their progress, a form for new ones, and live records of the zone. */
export function LogPush() {
  const { ofZone, ofAccount, zone, account } = usePlace()
  const [owner, setOwner] = useState('zone')
  const path = owner === 'zone' ? ofZone! : ofAccount
  const jobs = useRead<readonly Job[]>(`${path}/logpush/jobs`, 5000)
  return (
    <>
      <Choice
        label="Jobs of"
        value={owner}
        options={[
          ['zone', `the zone ${zone!.name}`],
          ['account', `the account ${account.name}`],
        ]}
        onChange={setOwner}
      />
      <Jobs jobs={jobs} path={path} />
      <NewJob key={owner} of={path} usual={owner === 'zone' ? 'http_requests' : 'audit_logs_v2'} onDone={jobs.reload} />
      <LiveRecords />
    </>
  )
}

function Jobs({ jobs, path }: { jobs: Read<readonly Job[]>; path: string }) {
  const running = useRead<readonly Running[]>(`${path}/edged/pipelines`, 5000)
  const destinations = useRead<readonly Destination[]>(`${path}/edged/destinations`, 5000)
  const { busy, error, run } = useWork()
  const destinationOf = ({ id }: Job) => destinations.value?.find((one) => one.id === id)?.destination_conf ?? ''
  const of = ({ id }: Job) => running.value?.find(({ kind, name }) => kind === 'job' && name === String(id))
  return (
    <Panel title="Jobs">
      <Problem text={error} />
      <Loaded read={jobs}>
        {(list) => (
          <Table
            caption="Jobs"
            rows={list}
            empty="No jobs. A job sends log records to a destination; create one below."
            keyOf={({ id }) => id}
            textOf={(job) => `${job.id} ${job.name ?? ''} ${job.dataset} ${destinationOf(job)}`}
            columns={[
              ['Job', ({ id, name }) => name ?? `job ${id}`],
              ['Dataset', ({ dataset }) => dataset],
              ['Destination', (job) => <code>{destinationOf(job)}</code>],
              [
                'Enabled',
                (job) => (
                  <Toggle
                    label={`Enable ${job.name ?? `job ${job.id}`}`}
                    on={job.enabled}
                    onChange={(enabled) =>
                      run(async () => {
                        await put(`${path}/logpush/jobs/${job.id}`, { enabled })
                        jobs.reload()
                      })
                    }
                  />
                ),
              ],
              ['State', (job) => <State running={of(job)} />],
              ['Lag', (job) => of(job) && `${of(job)!.lag_records} records, ${Math.round(of(job)!.lag_seconds)} s`],
              ['Next batch', (job) => nextBatch(job, of(job))],
              ['Delivered', (job) => of(job)?.records_delivered],
              ['Last delivery', ({ last_complete: at }) => <Time at={at} />],
              [
                'Last error',
                ({ last_error: at, error_message: message }) => (
                  <>
                    <Time at={at} /> {message && <span class="bad">{message}</span>}
                  </>
                ),
              ],
              [
                '',
                (job) => (
                  <button
                    type="button"
                    aria-disabled={busy}
                    aria-label={`Delete ${job.name ?? `job ${job.id}`}`}
                    onClick={() =>
                      confirm('Delete this job?') &&
                      run(async () => {
                        await remove(`${path}/logpush/jobs/${job.id}`)
                        jobs.reload()
                      })
                    }
                  >
                    Delete
                  </button>
                ),
              ],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

/** Seconds after its first record that a batch is sent, unless the job says otherwise. */
const DEFAULT_INTERVAL = 30

function nextBatch({ max_upload_interval_seconds: seconds }: Job, running: Running | undefined): string {
  if (running === undefined) return '–'
  if (running.batches_in_flight > 0) return 'is being sent'
  if (running.lag_records === 0 && running.lag_seconds === 0) return 'after the next record'
  return `in at most ${Math.max(0, Math.round((seconds || DEFAULT_INTERVAL) - running.lag_seconds))} s`
}

const State = ({ running }: { running: Running | undefined }) =>
  running ? <Badge good={running.state === 'running'}>{running.state}</Badge> : <span class="soft">not running</span>

function LiveRecords() {
  const { ofZone } = usePlace()
  const [filter, setFilter] = useState('')
  const open = async () => {
    const { destination_conf: url } = await post<{ destination_conf: string }>(`${ofZone}/logpush/edge/jobs`, {
      fields:
        'EdgeStartTimestamp,ClientIP,ClientRequestMethod,ClientRequestHost,ClientRequestURI,EdgeResponseStatus,RayID',
      ...(filter.trim() !== '' && { filter }),
    })
    return { url }
  }
  return (
    <Panel title="Live records">
      <TextField label="Filter of the live records (JSON)" value={filter} onInput={setFilter} />
      <Tail open={open} />
    </Panel>
  )
}
