import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { usePages, useRead, useWork } from '../hooks.ts'
import { Badge, Choice, Loaded, Panel, Problem, Time } from '../parts.tsx'
import { PagedTable, Table } from '../table.tsx'
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

/** Outcome of a request to send all again. */
interface Retried {
  readonly retried: number
  readonly disabled: number
  readonly over_limit: number
}

const STATUSES = ['', 'pending', 'processing', 'completed', 'failed'] as const

/** Deliveries with their attempts and bodies. Failed ones can be sent again. */
export function Deliveries({ posture, webhooks }: { posture: string; webhooks: readonly Webhook[] }) {
  const [status, setStatus] = useState('')
  const [shown, setShown] = useState<string>()
  const [webhook, setWebhook] = useState('')
  const filter = { ...(status !== '' && { status }), ...(webhook !== '' && { webhook_id: webhook }) }
  const read = usePages<Delivery>(`${posture}/webhooks/jobs?${new URLSearchParams(filter).toString()}`, 5000)
  const { busy, error, run } = useWork()
  const [notice, setNotice] = useState('')
  const again = (id: string) =>
    run(async () => {
      await post(`${posture}/webhooks/jobs/${id}/retry`)
      setNotice('Sent again: the outcome follows in the list.')
      read.reload()
    })
  const allAgain = () =>
    run(async () => {
      const body = { ...filter, status: 'failed' }
      const { retried, disabled, over_limit } = await post<Retried>(`${posture}/webhooks/jobs/retry`, body)
      const left = [
        ...(disabled > 0 ? [`${disabled} have a disabled webhook`] : []),
        ...(over_limit > 0 ? [`${over_limit} are beyond the limit of waiting deliveries`] : []),
      ]
      setNotice([`${retried} are sent again`, ...left].join(', '))
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
        <Choice
          label="Webhook"
          value={webhook}
          options={[['', 'all'], ...webhooks.map(({ id, label }) => [id, label] as const)]}
          onChange={setWebhook}
        />
        <button type="button" aria-disabled={busy} onClick={allAgain}>
          Send all failed ones again
        </button>
      </div>
      <Problem text={error} />
      <p aria-live="polite">{notice}</p>
      <PagedTable
        caption="Deliveries"
        read={read}
        keyOf={({ id }) => id}
        empty="No deliveries. Tests of webhooks, findings that are sent and remediation policies create them."
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
                    aria-disabled={busy}
                    aria-label={`Send delivery ${id} again`}
                    onClick={() => again(id)}
                  >
                    Send again
                  </button>
                )}
              </>
            ),
          ],
        ]}
      />
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
