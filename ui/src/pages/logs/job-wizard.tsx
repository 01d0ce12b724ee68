import { useState } from 'react'
import { placed, post, put } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { useParam } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { count } from '../../parts/format.ts'
import { Sheet, SheetBody, SheetForm } from '../../parts/sheet.tsx'
import { Loading, Notice } from '../../parts/states.tsx'
import { useToast } from '../../parts/toast.tsx'
import { parseDestination } from './destination.ts'
import { bodyOf, draftOf, newDraft, type Draft } from './draft.ts'
import { nameOf, reasonOf, useOwners, type OwnedJob } from './jobs.ts'
import { DeliveryStep } from './step-delivery.tsx'
import { DestinationStep } from './step-destination.tsx'
import { RecordsStep } from './step-records.tsx'
import styles from './logs.module.css'

const STEPS = [
  ['destination', 'Destination'],
  ['records', 'Records'],
  ['delivery', 'Delivery'],
] as const
const FIELDS = [
  '/destination_conf',
  '/dataset',
  '/filter',
  '/output_options/sample_rate',
  '/output_options',
  '/name',
  '/max_upload_interval_seconds',
  '/max_upload_records',
  '/max_upload_bytes',
]
/** The step that has the field of an error. */
const STEP_OF = (field: string): number =>
  field === '/destination_conf' ? 0 : ['/dataset', '/filter', '/output_options'].includes(field) ? 1 : 2

/** Creates a job in three steps, or changes one. */
export function JobWizard({ job, onClose }: { job?: OwnedJob; onClose: () => void }) {
  const owners = useOwners()
  const shown = useRead<readonly { id: number; destination_conf: string }[]>(
    job && `${job.owner.path}/edged/destinations`,
  )
  const conf = shown.value?.find(({ id }) => id === job?.id)?.destination_conf
  const title = job ? `Edit log job ${nameOf(job)}` : 'New log job'
  const isReady = job ? conf !== undefined : true
  if (!isReady)
    return (
      <Sheet wide title={title} onClose={onClose}>
        <SheetBody>
          <Loading />
        </SheetBody>
      </Sheet>
    )
  const first = job
    ? draftOf(job, job.owner, conf!)
    : newDraft(owners.find(({ type }) => type === 'zone') ?? owners[0]!)
  return <Wizard key={job?.id ?? 'new'} title={title} job={job} first={first} onClose={onClose} />
}

function Wizard({
  title,
  job,
  first,
  onClose,
}: {
  title: string
  job: OwnedJob | undefined
  first: Draft
  onClose: () => void
}) {
  const [initial] = useState(first)
  const [draft, setDraft] = useState(initial)
  const [step, setStep] = useParam('step', STEPS[0][0])
  const at = Math.max(
    STEPS.findIndex(([name]) => name === step),
    0,
  )
  const toast = useToast()
  const save = useWork(async () => {
    const path = `${draft.owner.path}/logpush/jobs`
    const body = bodyOf(draft, job)
    return job ? await put<OwnedJob>(`${path}/${job.id}`, body) : await post<OwnedJob>(path, body)
  })
  const change = (part: Partial<Draft>): void => setDraft((old) => ({ ...old, ...part }))
  const { at: errorAt, rest } = placed(save.failure, FIELDS)
  const isLast = at === STEPS.length - 1
  const hasPlace = draft.destination.place.trim() !== ''
  const submit = async (): Promise<void> => {
    if (!job && !isLast) return setStep(STEPS[at + 1]![0])
    try {
      await save.run()
      toast(job ? `${nameOf(job)} is saved.` : `Log job ${draft.name || 'of ' + draft.dataset} runs.`)
      onClose()
    } catch (error) {
      const wrong = FIELDS.find((field) => placed(error, FIELDS).at(field) !== undefined)
      if (wrong !== undefined) setStep(STEPS[STEP_OF(wrong)]![0])
    }
  }
  const waiting = job?.edged.lag_records ?? 0
  const isMoved = JSON.stringify(draft.destination) !== JSON.stringify(initial.destination)
  const stored = job?.destination_conf === undefined ? undefined : parseDestination(job.destination_conf)
  return (
    <Sheet wide title={title} onClose={onClose} isDirty={draft !== initial && !save.busy}>
      <nav className={styles['steps']} aria-label="Steps">
        {STEPS.map(([name, label], index) => (
          <button
            key={name}
            type="button"
            className={styles['step']}
            aria-current={index === at ? 'step' : undefined}
            disabled={!job && index > at && !hasPlace}
            onClick={() => setStep(name)}
          >
            <span>{index + 1}</span>
            <span>{label}</span>
          </button>
        ))}
      </nav>
      <SheetForm
        verb={job ? 'Save' : isLast ? 'Create job' : 'Next'}
        busy={save.busy}
        failure={save.failure}
        rest={rest === undefined ? undefined : reasonOf(rest)}
        onSubmit={() => void submit()}
        onCancel={onClose}
        extra={at > 0 && !job ? <Button onClick={() => setStep(STEPS[at - 1]![0])}>Back</Button> : undefined}
      >
        {at === 0 && (
          <DestinationStep draft={draft} stored={stored} isNew={!job} onChange={change} error={reasonAt(errorAt)} />
        )}
        {at === 1 && <RecordsStep draft={draft} job={job} onChange={change} errorAt={errorAt} />}
        {at === 2 && <DeliveryStep draft={draft} onChange={change} errorAt={errorAt} />}
        {job && isMoved && waiting > 0 && (
          <Notice>{count(waiting, 'waiting record goes', 'waiting records go')} to the new destination.</Notice>
        )}
      </SheetForm>
    </Sheet>
  )
}

const reasonAt = (at: (pointer: string) => string | undefined): string | undefined => {
  const message = at('/destination_conf')
  return message === undefined ? undefined : reasonOf(message)
}
