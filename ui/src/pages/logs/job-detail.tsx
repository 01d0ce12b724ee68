import { post } from '../../api/client.ts'
import { useRead } from '../../api/queries.ts'
import { useGo } from '../../address.tsx'
import { useLive } from '../../live.ts'
import { Button } from '../../parts/button.tsx'
import { Switch } from '../../parts/fields.tsx'
import { bytes, count, duration, number } from '../../parts/format.ts'
import { LiveRecords } from '../../parts/live-records.tsx'
import { ActionMenu, Facts, Panel, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Notice } from '../../parts/states.tsx'
import { BatchTable } from './batch-table.tsx'
import { parseDestination, writeDestination } from './destination.ts'
import { DeadLetters } from './dead-letters.tsx'
import { JobState, lagText, useJobActions } from './job-state.tsx'
import { nameOf, reasonOf, type OwnedJob } from './jobs.ts'
import { LagChart } from './lag-chart.tsx'
import styles from './logs.module.css'

const COUNTS_MS = 5000

/** Counts of a job since the start of the daemon. */
interface Running {
  readonly kind: string
  readonly name: string
  readonly records_read: number
  readonly records_delivered: number
  readonly records_dropped: number
  readonly records_sampled_out: number
  readonly delivered_bytes: number
}

/** What a job does, what it has sent, and its records as they come. */
export function JobDetail({ job, mayWrite, onClose }: { job: OwnedJob; mayWrite: boolean; onClose: () => void }) {
  const go = useGo()
  const actions = useJobActions()
  const remove = async (): Promise<void> => {
    if (await actions.remove(job)) onClose()
  }
  return (
    <Sheet
      wide
      title={`Log job ${nameOf(job)}`}
      onClose={onClose}
      actions={
        mayWrite && (
          <>
            <Switch label={`${nameOf(job)} is on`} on={job.enabled} onChange={(on) => void actions.toggle(job, on)} />
            <Button icon="settings" onClick={() => go({ rest: [String(job.id), 'edit'] })}>
              Edit
            </Button>
            <ActionMenu
              label={`More for ${nameOf(job)}`}
              actions={[
                { name: 'Retry now', icon: 'refresh', run: () => void actions.retry(job) },
                { name: 'Copy as YAML', icon: 'copy', run: () => void actions.copy(job) },
                { name: 'Delete', icon: 'trash', danger: true, run: () => void remove() },
              ]}
            />
          </>
        )
      }
    >
      <SheetBody>
        <Failure
          job={job}
          mayWrite={mayWrite}
          onRetry={() => void actions.retry(job)}
          isBusy={actions.busyId === job.id}
        />
        <JobFacts job={job} />
        <LagChart job={job} />
        <Panel title="Batches">
          <BatchTable batches={job.edged.batches} />
        </Panel>
        <DeadLetters job={job} mayWrite={mayWrite} />
        <LivePanel job={job} />
      </SheetBody>
    </Sheet>
  )
}

function Failure({
  job,
  mayWrite,
  onRetry,
  isBusy,
}: {
  job: OwnedJob
  mayWrite: boolean
  onRetry: () => void
  isBusy: boolean
}) {
  const { enabled, error_message: error, edged } = job
  if (!enabled || error === null) return null
  return (
    <Notice
      kind="bad"
      action={
        mayWrite && (
          <Button size="small" busy={isBusy} onClick={onRetry}>
            Retry now
          </Button>
        )
      }
    >
      <span className={styles['wrap']}>{reasonOf(error)}</span>{' '}
      {edged.failing_since !== null && (
        <>
          Failing since <Time at={edged.failing_since} />.{' '}
        </>
      )}
      {count(edged.lag_records, 'record waits', 'records wait')}, none is lost.
    </Notice>
  )
}

function JobFacts({ job }: { job: OwnedJob }) {
  const shown = useRead<readonly { id: number; destination_conf: string }[]>(`${job.owner.path}/edged/destinations`)
  const running = useRead<readonly Running[]>(`${job.owner.path}/edged/pipelines`, { every: COUNTS_MS })
  const counts = running.value?.find(({ kind, name }) => kind === 'job' && name === String(job.id))
  const to = shown.value?.find(({ id }) => id === job.id)?.destination_conf
  const { max_upload_interval_seconds: seconds, max_upload_records: records, max_upload_bytes: size, edged } = job
  const rate = job.output_options?.['sample_rate']
  return (
    <Facts
      rows={[
        ['State', <JobState key="state" job={job} />],
        ['Not sent yet', lagText(job)],
        ['Records', `${job.dataset} of ${job.owner.type === 'account' ? 'the account' : job.owner.name}`],
        ['Destination', to === undefined ? '–' : <DestinationFact key="to" conf={to} />],
        job.filter
          ? [
              'Filter',
              <code key="filter" className={styles['wrap']}>
                {job.filter}
              </code>,
            ]
          : undefined,
        typeof rate === 'number' && rate !== 1 ? ['Sample', number(rate)] : undefined,
        [
          'A batch is sent',
          [
            `after ${duration(seconds || 30)}`,
            records ? `or ${count(records, 'record')}` : '',
            size ? `or ${bytes(size)}` : '',
          ]
            .filter((text) => text !== '')
            .join(' '),
        ],
        ['Delivered up to', <Time key="last" at={job.last_complete} />],
        counts && [
          'Since the start of the daemon',
          `${count(counts.records_delivered, 'record')} delivered (${bytes(counts.delivered_bytes)}), ${number(counts.records_dropped)} dropped, ${number(counts.records_sampled_out)} sampled out`,
        ],
        edged.dead_letters > 0 ? ['Dead letters', count(edged.dead_letters, 'record')] : undefined,
      ]}
    />
  )
}

/** The address, and below it the header fields that the address carries. */
function DestinationFact({ conf }: { conf: string }) {
  const { headers, ...rest } = parseDestination(conf)
  return (
    <>
      <code className={styles['wrap']}>{writeDestination({ ...rest, headers: '' })}</code>
      {headers.trim() !== '' && (
        <>
          <br />
          <code className={styles['wrap']}>{headers.trim()}</code>
        </>
      )}
    </>
  )
}

/** The records of a job as they come, written as it writes them. */
function LivePanel({ job }: { job: OwnedJob }) {
  const key = job.enabled ? `${job.owner.path} ${job.id}` : undefined
  const live = useLive(key, async () => {
    const { destination_conf: url } = await post<{ destination_conf: string }>(`${job.owner.path}/edged/tail`, {
      job: job.id,
    })
    return { url }
  })
  return (
    <Panel title="Records as they come">
      {key === undefined ? (
        <p className="soft">The job is off. Switch it on to see its records.</p>
      ) : (
        <LiveRecords live={live} waits="No record yet. Records show here when the job takes them." />
      )}
    </Panel>
  )
}
