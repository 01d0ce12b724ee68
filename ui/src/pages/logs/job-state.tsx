import { useState } from 'react'
import { get, post, put, remove } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { useConfirm } from '../../parts/confirm.tsx'
import { copyText } from '../../parts/copy.ts'
import { count, duration } from '../../parts/format.ts'
import { State } from '../../parts/panel.tsx'
import { useToast } from '../../parts/toast.tsx'
import { jobYaml } from './job-yaml.ts'
import { nameOf, reasonOf, type Job, type OwnedJob } from './jobs.ts'

/** The state of a job in words. */
export function JobState({ job }: { job: Job }) {
  const { enabled, edged, error_message: error } = job
  if (!enabled || edged.state === 'off') return <State tone="off">Off</State>
  if (edged.state === 'failing' || edged.state === 'waiting')
    return <State tone="bad">Failing{error ? `: ${shortReason(error)}` : ''}</State>
  return <State tone="ok">Delivering</State>
}

/** `403`, or the reason in words. */
function shortReason(message: string): string {
  return /responded with (\d{3})/.exec(message)?.[1] ?? reasonOf(message).replace(/\.$/, '')
}

/** `5,190 records, 22 m`: what is not sent yet. */
export function lagText({ edged: { lag_records: records, lag_seconds: seconds } }: Job): string {
  if (records === 0) return 'None'
  return `${count(records, 'record')}${seconds >= 1 ? `, ${age(seconds)}` : ''}`
}

/** `22 m`: one unit. */
const age = (seconds: number): string => duration(Math.round(seconds)).split(/(?<=[a-z]) /)[0]!

const pathOf = ({ owner, id }: OwnedJob): string => `${owner.path}/logpush/jobs/${id}`

const set = async (job: OwnedJob, enabled: boolean): Promise<unknown> => await put(pathOf(job), { enabled })

interface ShownDestination {
  readonly id: number
  readonly destination_conf: string
}

/** Changes that a row and the details of a job offer. */
export function useJobActions() {
  const toast = useToast()
  const confirm = useConfirm()
  const [busyId, setBusyId] = useState<number>()
  const work = useWork(async ({ job, run }: { job: OwnedJob; run: () => Promise<string> }) => {
    setBusyId(job.id)
    try {
      return await run()
    } finally {
      setBusyId(undefined)
    }
  })
  const start = async (job: OwnedJob, run: () => Promise<string>, undo?: () => Promise<unknown>): Promise<boolean> => {
    try {
      toast(await work.run({ job, run }), undo ? { undo } : {})
      return true
    } catch (error) {
      toast(error instanceof Error ? reasonOf(error.message) : String(error), { kind: 'bad' })
      return false
    }
  }
  return {
    busyId,
    toggle: async (job: OwnedJob, enabled: boolean) =>
      await start(
        job,
        async () => {
          await set(job, enabled)
          return `${nameOf(job)} is ${enabled ? 'on' : 'off'}.`
        },
        async () => await set(job, !enabled),
      ),
    retry: async (job: OwnedJob) =>
      await start(job, async () => {
        const { attempted } = await post<{ attempted: boolean }>(`${pathOf(job)}/edged/retry`)
        return attempted ? `${nameOf(job)} is tried again now.` : `${nameOf(job)} has nothing to try again.`
      }),
    /** Copies the job as a pipeline of the configuration file. */
    copy: async (job: OwnedJob) =>
      await start(job, async () => {
        const shown = await get<readonly ShownDestination[]>(`${job.owner.path}/edged/destinations`)
        const to = shown.find(({ id }) => id === job.id)?.destination_conf ?? ''
        await copyText(jobYaml(job, nameOf(job), to))
        return `${nameOf(job)} is copied as a pipeline in YAML.`
      }),
    remove: async (job: OwnedJob) => {
      const waiting = job.edged.lag_records
      const isSure = await confirm({
        title: `Delete log job ${nameOf(job)}?`,
        text:
          waiting > 0
            ? `${count(waiting, 'record is', 'records are')} not sent yet. They are lost for this destination.`
            : 'All of its records are sent. No further ones will be.',
        verb: 'Delete',
      })
      if (!isSure) return false
      return await start(job, async () => {
        await remove(pathOf(job))
        return `Log job ${nameOf(job)} is deleted.`
      })
    },
  }
}
