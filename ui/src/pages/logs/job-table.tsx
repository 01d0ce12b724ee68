import type { ReactNode } from 'react'
import { useGo } from '../../address.tsx'
import { Switch } from '../../parts/fields.tsx'
import { ActionMenu, Badge, Time } from '../../parts/panel.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { shownPlace } from './destination.ts'
import { JobState, lagText, useJobActions } from './job-state.tsx'
import { lagOf, nameOf, type OwnedJob } from './jobs.ts'
import styles from './logs.module.css'

const isFailing = ({ enabled, edged }: OwnedJob): boolean =>
  enabled && (edged.state === 'failing' || edged.state === 'waiting')

const stateOrder = (job: OwnedJob): number => (isFailing(job) ? 0 : job.enabled ? 1 : 2)

const ownerName = ({ type, name }: OwnedJob['owner']): ReactNode => (type === 'account' ? <Badge>Account</Badge> : name)

export const COLUMNS: readonly Column<OwnedJob>[] = [
  { key: 'name', title: 'Name', cell: nameOf, sort: nameOf, card: 'title' },
  { key: 'state', title: 'State', cell: (job) => <JobState job={job} />, sort: stateOrder, card: 'state' },
  {
    key: 'flow',
    title: 'Sends',
    cell: (job) => (
      <>
        <span className={styles['dataset']}>{job.dataset}</span> → {shownPlace(job.destination_conf)}
      </>
    ),
    card: 'fact',
  },
  { key: 'of', title: 'Of', cell: ({ owner }) => ownerName(owner), sort: ({ owner }) => owner.name, width: 120 },
  {
    key: 'lag',
    title: 'Backlog',
    cell: (job) => <Lag job={job} />,
    sort: ({ edged }) => edged.lag_records,
    width: 180,
    card: 'fact',
  },
  {
    key: 'last',
    title: 'Last delivery',
    cell: ({ last_complete: at }) => <Time at={at} />,
    sort: ({ last_complete: at }) => at ?? '',
    width: 130,
    optional: true,
  },
]

/** The jobs, a row each. */
export function JobTable({
  jobs,
  hidden,
  mayWrite,
}: {
  jobs: readonly OwnedJob[]
  hidden: readonly string[]
  mayWrite: boolean
}) {
  const go = useGo()
  const actions = useJobActions()
  const open = (job: OwnedJob, ...more: string[]): void => go({ rest: [String(job.id), ...more] })
  const menu: Column<OwnedJob> = {
    key: 'menu',
    title: '',
    width: 96,
    card: 'menu',
    cell: (job) => (
      <span className={styles['rowActions']}>
        <Switch label={`${nameOf(job)} is on`} on={job.enabled} onChange={(on) => void actions.toggle(job, on)} />
        <ActionMenu
          label={`More for ${nameOf(job)}`}
          actions={[
            { name: 'Edit', icon: 'settings', run: () => open(job, 'edit') },
            { name: 'Retry now', icon: 'refresh', run: () => void actions.retry(job) },
            { name: 'Copy as YAML', icon: 'copy', run: () => void actions.copy(job) },
            { name: 'Delete', icon: 'trash', danger: true, run: () => void actions.remove(job) },
          ]}
        />
      </span>
    ),
  }
  const columns = [...COLUMNS, ...(mayWrite ? [menu] : [])]
  return (
    <DataTable
      label="Log jobs"
      rows={jobs}
      columns={columns}
      hidden={hidden}
      onEdit={mayWrite ? (job) => open(job, 'edit') : undefined}
      keyOf={({ id }) => String(id)}
      onOpen={(job) => open(job)}
      nameOf={nameOf}
      isOff={({ enabled }) => !enabled}
    />
  )
}

function Lag({ job }: { job: OwnedJob }) {
  const points = lagOf(job.id)
  const isWaiting = job.edged.lag_records > 0
  return (
    <span className={styles['lag']}>
      <span className={isWaiting ? undefined : 'soft'}>{lagText(job)}</span>
      {points.length > 3 && points.some(({ records }) => records > 0) && (
        <Sparkline
          values={points.map(({ records }) => records)}
          label={`Waiting records of ${nameOf(job)}`}
          width={48}
        />
      )}
    </span>
  )
}
