import { useState } from 'preact/hooks'
import { post, put, remove } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Badge, Loaded, Panel, Problem, Toggle } from '../parts.tsx'
import { Table } from '../table.tsx'
import { usePlace } from '../place.ts'
import { Deliveries } from './deliveries.tsx'
import { Findings } from './findings.tsx'
import { WebhookForm } from './webhook-form.tsx'
import type { Webhook } from './webhook.ts'

/** Destinations of findings, their deliveries, and the findings themselves. */
export function Webhooks() {
  const { ofAccount } = usePlace()
  const posture = `${ofAccount}/data-security/posture`
  const webhooks = useRead<readonly Webhook[]>(`${posture}/webhooks`, 15_000)
  const [editing, setEditing] = useState<Webhook>()
  return (
    <>
      <Panel title="Webhooks">
        <Loaded read={webhooks}>
          {(list) => <List posture={posture} webhooks={list} reload={webhooks.reload} onEdit={setEditing} />}
        </Loaded>
        {editing ? (
          <WebhookForm
            key={editing.id}
            posture={posture}
            webhook={editing}
            onDone={() => {
              setEditing(undefined)
              webhooks.reload()
            }}
            onCancel={() => setEditing(undefined)}
          />
        ) : (
          <WebhookForm key="new" posture={posture} onDone={webhooks.reload} />
        )}
      </Panel>
      <Deliveries posture={posture} webhooks={webhooks.value ?? []} />
      <Findings posture={posture} webhooks={webhooks.value ?? []} />
    </>
  )
}

function List({
  posture,
  webhooks,
  reload,
  onEdit,
}: {
  posture: string
  webhooks: readonly Webhook[]
  reload: () => void
  onEdit: (webhook: Webhook) => void
}) {
  const { busy, error, run } = useWork()
  const [notice, setNotice] = useState('')
  return (
    <>
      <Problem text={error} />
      <p aria-live="polite">{notice}</p>
      <Table
        caption="Webhooks"
        rows={webhooks}
        empty="No webhooks. A webhook receives posture findings as JSON; create one below."
        keyOf={({ id }) => id}
        textOf={({ label, destination_url: url }) => `${label} ${url}`}
        columns={[
          ['Label', ({ label }) => label],
          ['URL', ({ destination_url: url }) => <code>{url}</code>],
          ['Authentication', ({ authentication_type: type }) => type],
          [
            'Enabled',
            ({ id, label, destination_url, authentication_type, status, headers, disabled_reason: reason }) => (
              <>
                <Toggle
                  label={`Enable ${label}`}
                  on={status === 'enabled'}
                  onChange={(on) =>
                    run(async () => {
                      // Replaces the whole configuration; names of headers without values keep the stored values.
                      await put(`${posture}/webhooks/${id}`, {
                        label,
                        destination_url,
                        authentication_type,
                        status: on ? 'enabled' : 'disabled',
                        ...(headers && { headers }),
                      })
                      reload()
                    })
                  }
                />{' '}
                {reason && <Badge good={false}>{reason}</Badge>}
              </>
            ),
          ],
          [
            '',
            (webhook) => (
              <>
                <button type="button" aria-label={`Edit ${webhook.label}`} onClick={() => onEdit(webhook)}>
                  Edit
                </button>{' '}
                <button
                  type="button"
                  aria-disabled={busy}
                  aria-label={`Test ${webhook.label}`}
                  onClick={() =>
                    run(async () => {
                      const tested = await post<{ success: boolean; status_code?: number; message?: string }>(
                        `${posture}/webhooks/${webhook.id}/evaluate`,
                      )
                      const outcome = tested.success ? 'accepts deliveries' : 'does not accept deliveries'
                      setNotice(`${webhook.label} ${outcome}: ${tested.message ?? tested.status_code}`)
                    })
                  }
                >
                  Test
                </button>{' '}
                <button
                  type="button"
                  aria-disabled={busy}
                  aria-label={`Delete ${webhook.label}`}
                  onClick={() =>
                    confirm(`Delete ${webhook.label}?`) &&
                    run(async () => {
                      await remove(`${posture}/webhooks/${webhook.id}`)
                      reload()
                    })
                  }
                >
                  Delete
                </button>
              </>
            ),
          ],
        ]}
      />
    </>
  )
}
