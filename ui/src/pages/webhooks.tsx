import { useState } from 'preact/hooks'
import { post, put, remove } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Badge, Choice, Loaded, Panel, Problem, Table, TextField, Toggle } from '../parts.tsx'
import { usePlace } from '../place.ts'
import { Deliveries } from './deliveries.tsx'
import { Findings } from './findings.tsx'
import type { Webhook } from './webhook.ts'

const TYPES = ['None', 'Bearer Auth', 'HMAC-Signing'] as const

/** Destinations of findings, their deliveries, and the findings themselves. */
export function Webhooks() {
  const { ofAccount } = usePlace()
  const posture = `${ofAccount}/data-security/posture`
  const webhooks = useRead<readonly Webhook[]>(`${posture}/webhooks`, 15_000)
  return (
    <>
      <Panel title="Webhooks">
        <Loaded read={webhooks}>{(list) => <List posture={posture} webhooks={list} reload={webhooks.reload} />}</Loaded>
        <NewWebhook posture={posture} onDone={webhooks.reload} />
      </Panel>
      <Deliveries posture={posture} webhooks={webhooks.value ?? []} />
      <Findings posture={posture} webhooks={webhooks.value ?? []} />
    </>
  )
}

function List({ posture, webhooks, reload }: { posture: string; webhooks: readonly Webhook[]; reload: () => void }) {
  const { busy, error, run } = useWork()
  const [notice, setNotice] = useState('')
  return (
    <>
      <Problem text={error} />
      <p aria-live="polite">{notice}</p>
      <Table
        caption="Webhooks"
        rows={webhooks}
        empty="No webhooks."
        columns={[
          ['Label', ({ label }) => label],
          ['URL', ({ destination_url: url }) => <code>{url}</code>],
          ['Authentication', ({ authentication_type: type }) => type],
          [
            'Enabled',
            ({ id, label, status, disabled_reason: reason }) => (
              <>
                <Toggle
                  label={`Enable ${label}`}
                  on={status === 'enabled'}
                  disabled={busy}
                  onChange={(on) =>
                    run(async () => {
                      await put(`${posture}/webhooks/${id}`, { status: on ? 'enabled' : 'disabled' })
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
            ({ id, label }) => (
              <>
                <button
                  type="button"
                  disabled={busy}
                  aria-label={`Test ${label}`}
                  onClick={() =>
                    run(async () => {
                      const tested = await post<{ success: boolean; status_code?: number; message?: string }>(
                        `${posture}/webhooks/${id}/evaluate`,
                      )
                      const outcome = tested.success ? 'accepts deliveries' : 'does not accept deliveries'
                      setNotice(`${label} ${outcome}: ${tested.message ?? tested.status_code}`)
                    })
                  }
                >
                  Test
                </button>{' '}
                <button
                  type="button"
                  disabled={busy}
                  aria-label={`Delete ${label}`}
                  onClick={() =>
                    confirm(`Delete ${label}?`) &&
                    run(async () => {
                      await remove(`${posture}/webhooks/${id}`)
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

function NewWebhook({ posture, onDone }: { posture: string; onDone: () => void }) {
  const [label, setLabel] = useState('')
  const [url, setUrl] = useState('')
  const [type, setType] = useState<string>(TYPES[0])
  const [secret, setSecret] = useState('')
  const { busy, error, run } = useWork()
  const credentials = () => {
    if (type === 'HMAC-Signing') return { signing_secret: secret }
    return type === 'Bearer Auth' ? { headers: [{ key: 'Authorization', value: `Bearer ${secret}` }] } : {}
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(async () => {
          await post(`${posture}/webhooks`, {
            label,
            destination_url: url,
            authentication_type: type,
            ...credentials(),
          })
          setLabel('')
          setUrl('')
          setSecret('')
          onDone()
        })
      }}
    >
      <h3>New webhook</h3>
      <div class="row">
        <TextField label="Label" value={label} onInput={setLabel} required />
        <TextField label="URL" value={url} onInput={setUrl} required />
        <Choice label="Authentication" value={type} options={TYPES.map((one) => [one, one])} onChange={setType} />
        {type !== 'None' && <TextField label="Secret" secret value={secret} onInput={setSecret} required />}
        <button type="submit" disabled={busy}>
          Create
        </button>
      </div>
      <Problem text={error} />
    </form>
  )
}
