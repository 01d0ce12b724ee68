import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Badge, Choice, Loaded, Panel, Problem, Table, Time } from '../parts.tsx'
import type { Webhook } from './webhook.ts'

interface Delivery {
  readonly id: string
  readonly webhook_id: string
  readonly status: 'pending' | 'processing' | 'completed' | 'failed'
  readonly created_at: string
  readonly attempts: number
  readonly last_status_code: number | null
  readonly next_try_at: string | null
  readonly failure_reason?: string
}
interface Attempt {
  readonly at: string
  readonly status_code?: number | null
  readonly duration_ms?: number
  readonly error?: string | null
  readonly response?: string | null
}
interface Details extends Delivery {
  readonly tries: readonly Attempt[]
  readonly payload?: unknown
}

const STATUSES = ['', 'pending', 'processing', 'completed', 'failed'] as const

/** Deliveries with their attempts and bodies. Failed ones can be sent again. */
export function Deliveries({ posture, webhooks }: { posture: string; webhooks: readonly Webhook[] }) {
  const [status, setStatus] = useState('')
  const [shown, setShown] = useState<string>()
  const query = `per_page=50${status === '' ? '' : `&status=${status}`}`
  const read = useRead<readonly Delivery[]>(`${posture}/webhooks/jobs?${query}`, 5000)
  const { busy, error, run } = useWork()
  const [notice, setNotice] = useState('')
  const again = (path: string, body: unknown) =>
    run(async () => {
      await post(`${posture}/webhooks/jobs${path}`, body)
      setNotice('Sent again: the outcome follows in the list.')
      read.reload()
    })
  const labels = new Map(webhooks.map(({ id, label }) => [id, label]))
  return (
    <Panel title="Deliveries">
      <div class="row">
        <Choice
          label="Status"
          value={status}
          options={STATUSES.map((one) => [one, one === '' ? 'all' : one])}
          onChange={setStatus}
        />
        <button type="button" disabled={busy} onClick={() => again('/retry', { status: 'failed' })}>
          Send all failed ones again
        </button>
      </div>
      <Problem text={error} />
      <p aria-live="polite">{notice}</p>
      <Loaded read={read}>
        {(deliveries) => (
          <Table
            caption="Deliveries"
            rows={deliveries}
            empty="No deliveries."
            columns={[
              ['Created', ({ created_at: at }) => <Time at={at} />],
              ['Webhook', ({ webhook_id: id }) => labels.get(id) ?? id],
              [
                'Status',
                ({ status: state }) => (
                  <Badge good={state === 'completed' ? true : state === 'failed' ? false : undefined}>{state}</Badge>
                ),
              ],
              ['Attempts', ({ attempts }) => attempts],
              ['Last status', ({ last_status_code: code }) => code ?? '–'],
              ['Next attempt', ({ next_try_at: at }) => <Time at={at} />],
              [
                '',
                ({ id, status: state }) => (
                  <>
                    <button
                      type="button"
                      aria-expanded={shown === id}
                      aria-label={`Details of delivery ${id}`}
                      onClick={() => setShown(shown === id ? undefined : id)}
                    >
                      Details
                    </button>{' '}
                    {(state === 'failed' || state === 'completed') && (
                      <button
                        type="button"
                        disabled={busy}
                        aria-label={`Send delivery ${id} again`}
                        onClick={() => again(`/${id}/retry`, {})}
                      >
                        Send again
                      </button>
                    )}
                  </>
                ),
              ],
            ]}
          />
        )}
      </Loaded>
      {shown !== undefined && <Shown key={shown} path={`${posture}/webhooks/jobs/${shown}?include=payload`} />}
    </Panel>
  )
}

function Shown({ path }: { path: string }) {
  const read = useRead<Details>(path, 5000)
  return (
    <Loaded read={read}>
      {({ tries, payload }) => (
        <>
          <h3>Attempts</h3>
          <Table
            caption="Attempts"
            rows={tries}
            empty="No attempt yet."
            columns={[
              ['Time', ({ at }) => <Time at={at} />],
              ['Status', ({ status_code: code }) => code ?? '–'],
              ['Duration', ({ duration_ms: ms }) => ms !== undefined && `${ms} ms`],
              ['Error', ({ error }) => error],
              ['Response', ({ response }) => response && <code>{response}</code>],
            ]}
          />
          <h3>Body</h3>
          <pre class="short" tabIndex={0} aria-label="Body of the delivery">
            {JSON.stringify(payload, null, 2)}
          </pre>
        </>
      )}
    </Loaded>
  )
}
