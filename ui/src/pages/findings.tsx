import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { usePages, useSettled, useWork } from '../hooks.ts'
import { Choice, Panel, Problem, TextField, Time } from '../parts.tsx'
import { PagedTable } from '../table.tsx'
import type { Webhook } from './webhook.ts'

interface Finding {
  readonly id: string
  readonly finding: { readonly name: string; readonly severity: string; readonly vendor: string }
  readonly active_count: number
  readonly latest_affliction_date: string | null
}
interface Instance {
  readonly id: string
  readonly affliction_date: string
  readonly is_archived: boolean
  readonly asset: { readonly name?: string; readonly external_id?: string }
}

/** Findings with their instances, which can be sent to a webhook by hand. */
export function Findings({ posture, webhooks }: { posture: string; webhooks: readonly Webhook[] }) {
  const [search, setSearch] = useState('')
  const wanted = useSettled(search.trim())
  const filter = wanted === '' ? '' : `?search=${encodeURIComponent(wanted)}`
  const read = usePages<Finding>(`${posture}/findings${filter}`, 15_000)
  const [shown, setShown] = useState<string>()
  return (
    <Panel title="Findings">
      <TextField label="Show findings that contain" value={search} onInput={setSearch} />
      <PagedTable
        caption="Findings"
        read={read}
        empty={
          wanted === ''
            ? 'No findings. They arrive at POST .../edged/findings of the account.'
            : 'Nothing matches the search.'
        }
        keyOf={({ id }) => id}
        columns={[
          ['Finding', ({ finding }) => finding.name],
          ['Severity', ({ finding }) => finding.severity],
          ['Vendor', ({ finding }) => finding.vendor],
          ['Active instances', ({ active_count: count }) => count],
          ['Latest', ({ latest_affliction_date: at }) => <Time at={at} />],
          [
            '',
            ({ id, finding }) => (
              <button
                type="button"
                aria-expanded={shown === id}
                aria-label={`Instances of ${finding.name}`}
                onClick={() => setShown(shown === id ? undefined : id)}
              >
                Instances
              </button>
            ),
          ],
        ]}
      />
      {shown !== undefined && <Instances key={shown} posture={posture} finding={shown} webhooks={webhooks} />}
    </Panel>
  )
}

function Instances({ posture, finding, webhooks }: { posture: string; finding: string; webhooks: readonly Webhook[] }) {
  const path = `${posture}/findings/${encodeURIComponent(finding)}/instances`
  const read = usePages<Instance>(path)
  const [chosen, setChosen] = useState('')
  const [notice, setNotice] = useState('')
  const { busy, error, run } = useWork()
  const webhook = webhooks.find(({ id }) => id === chosen) ?? webhooks[0]
  const deliver = ({ id }: Instance) =>
    run(async () => {
      const { created, failed } = await post<{ created: readonly unknown[]; failed: readonly { error: string }[] }>(
        `${posture}/webhooks/jobs`,
        { finding_instance_ids: [id], webhook_ids: [webhook!.id] },
      )
      setNotice(created.length > 0 ? `Sent to ${webhook!.label}.` : `Not sent: ${failed[0]?.error}`)
    })
  return (
    <>
      <h3>Instances</h3>
      {webhooks.length > 0 && (
        <Choice
          label="Webhook for instances that you send"
          value={webhook?.id ?? ''}
          options={webhooks.map(({ id, label }) => [id, label])}
          onChange={setChosen}
        />
      )}
      <Problem text={error} />
      <p aria-live="polite">{notice}</p>
      <PagedTable
        caption="Instances"
        read={read}
        keyOf={({ id }) => id}
        empty="No instances."
        columns={[
          ['Asset', ({ asset }) => asset.name ?? asset.external_id],
          ['Since', ({ affliction_date: at }) => <Time at={at} />],
          ['Archived', ({ is_archived: archived }) => (archived ? 'yes' : 'no')],
          [
            '',
            (instance) => (
              <button
                type="button"
                aria-disabled={busy || !webhook}
                aria-label={`Send ${instance.asset.name ?? instance.id}`}
                onClick={() => webhook && deliver(instance)}
              >
                Send
              </button>
            ),
          ],
        ]}
      />
    </>
  )
}
