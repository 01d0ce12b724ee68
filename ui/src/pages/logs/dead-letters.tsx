import { download, post } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { bytes, count, number } from '../../parts/format.ts'
import { Panel, State, Time } from '../../parts/panel.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { nameOf, reasonOf, type OwnedJob } from './jobs.ts'

const EVERY_MS = 10_000
const SHOWN = 100

/** Records that the destination of a job has refused for good. */
interface DeadLetter {
  readonly id: string
  readonly at: string
  readonly records: number
  readonly bytes: number
  readonly reason: 'too_large' | 'refused'
  readonly error: string
  readonly is_local: boolean
  readonly replayed_at: string | null
}

interface Replay {
  readonly dead_letters: readonly { readonly delivered: number; readonly error: string | null }[]
  readonly remaining: number
}

const COLUMNS: readonly Column<DeadLetter>[] = [
  { key: 'at', title: 'Time', cell: ({ at }) => <Time at={at} />, width: 110, card: 'title' },
  { key: 'why', title: 'Refused because', cell: ({ error }) => reasonOf(error), card: 'fact' },
  { key: 'records', title: 'Records', cell: ({ records }) => number(records), numeric: true, width: 96, card: 'fact' },
  { key: 'bytes', title: 'Size', cell: (letter) => bytes(letter.bytes), numeric: true, width: 96 },
  { key: 'state', title: 'State', cell: (letter) => <LetterState letter={letter} />, width: 120, card: 'state' },
]

function LetterState({ letter: { is_local: isHere, replayed_at: at } }: { letter: DeadLetter }) {
  if (at !== null) return <State tone="ok">Sent again</State>
  return isHere ? <State tone="warn">Kept</State> : <State tone="off">Elsewhere</State>
}

/** Dead letters of a job: looked at, downloaded, and sent again once the receiver takes them. */
export function DeadLetters({ job, mayWrite }: { job: OwnedJob; mayWrite: boolean }) {
  const path = `${job.owner.path}/logpush/jobs/${job.id}/edged/dead-letters`
  const { value = [] } = useRead<readonly DeadLetter[]>(`${path}?per_page=${SHOWN}`, { every: EVERY_MS })
  const confirm = useConfirm()
  const toast = useToast()
  const waiting = value.filter(({ is_local: isHere, replayed_at: at }) => isHere && at === null)
  const records = waiting.reduce((sum, letter) => sum + letter.records, 0)
  const replay = useWork(async () => {
    const { dead_letters: sent, remaining } = await post<Replay>(`${path}/replay`, {})
    const delivered = sent.reduce((sum, one) => sum + one.delivered, 0)
    const failed = sent.find(({ error }) => error !== null)?.error
    toast(
      `${count(delivered, 'record')} delivered${remaining > 0 ? `, ${count(remaining, 'batch is', 'batches are')} left` : ''}${
        failed == null ? '' : `: ${reasonOf(failed)}`
      }.`,
      failed == null ? {} : { kind: 'bad' },
    )
  }, [path, `${job.owner.path}/logpush/jobs`])
  const save = useWork(async () => await download(`${path}/records`, `${nameOf(job)}-dead-letters.ndjson`), [])
  if (value.length === 0) return null
  const sendAgain = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Send ${count(records, 'record')} again?`,
      text: 'They go to the destination of the job as it is now. Records that it refuses again stay here.',
      verb: 'Send again',
      danger: false,
    })
    if (isSure) replay.start()
  }
  return (
    <Panel
      title="Dead letters"
      docs="logpush.html"
      actions={
        waiting.length > 0 && (
          <>
            <Button size="small" icon="download" busy={save.busy} onClick={() => save.start()}>
              Download
            </Button>
            {mayWrite && (
              <Button size="small" busy={replay.busy} onClick={() => void sendAgain()}>
                Send again…
              </Button>
            )}
          </>
        )
      }
    >
      {(replay.error ?? save.error) !== undefined && (
        <p className="bad" role="alert">
          {replay.error ?? save.error}
        </p>
      )}
      <DataTable label="Dead letters" rows={value} columns={COLUMNS} keyOf={({ id }) => id} sortParam="letters" />
    </Panel>
  )
}
