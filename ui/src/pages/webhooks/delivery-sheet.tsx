import { post } from '../../api/client.ts'
import { useRead } from '../../api/queries.ts'
import { useAddress, useGo } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { ms } from '../../parts/format.ts'
import { Code, CopyButton, Facts, Panel, State, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Shown } from '../../parts/states.tsx'
import { answerText, DeliveryState, nameOf } from './deliveries.tsx'
import { useWebhookActions } from './webhook-state.tsx'
import type { Attempt, DeliveryDetails, Webhook } from './webhook.ts'
import styles from './webhooks.module.css'

const EVERY_MS = 5000

/** One delivery: what was sent, and what the receiver answered to each try. */
export function DeliverySheet({ webhook, id, mayWrite }: { webhook: Webhook; id: string; mayWrite: boolean }) {
  const actions = useWebhookActions()
  const go = useGo()
  const { search } = useAddress()
  const path = `${actions.posture}/webhooks/jobs/${encodeURIComponent(id)}`
  const read = useRead<DeliveryDetails>(`${path}?include=payload`, { every: EVERY_MS })
  const isOver = read.value?.status === 'failed' || read.value?.status === 'completed'
  return (
    <Sheet
      wide
      title={read.value ? nameOf(read.value) : 'Delivery'}
      onClose={() => go({ rest: [webhook.id], search })}
      actions={
        mayWrite &&
        isOver && (
          <Button
            busy={actions.busy}
            disabled={webhook.status === 'disabled'}
            onClick={() =>
              void actions.start(async () => {
                await post(`${path}/retry`)
              })
            }
          >
            Send again
          </Button>
        )
      }
    >
      <SheetBody>
        <Shown read={read} what="the delivery">
          {(delivery) => (
            <div className={styles['parts']}>
              <Facts
                rows={[
                  ['State', <DeliveryState key="state" delivery={delivery} />],
                  ['Created', <Time key="at" at={delivery.created_at} />],
                  delivery.failure_reason ? ['Reason', delivery.failure_reason.replaceAll('_', ' ')] : undefined,
                  ['Id', <code key="id">{delivery.id}</code>],
                ]}
              />
              <Panel title="Tries">
                {delivery.tries.length === 0 && <p className="soft">No try yet.</p>}
                {delivery.tries.toReversed().map((attempt, at) => (
                  <Try key={attempt.at} attempt={attempt} number={delivery.tries.length - at} />
                ))}
              </Panel>
              <Request webhook={webhook} delivery={delivery} />
            </div>
          )}
        </Shown>
      </SheetBody>
    </Sheet>
  )
}

function Request({ webhook, delivery }: { webhook: Webhook; delivery: DeliveryDetails }) {
  const body = JSON.stringify(delivery.payload, null, 2)
  const isSigned = webhook.authentication_type === 'HMAC-Signing'
  const fields: readonly (readonly [string, string])[] = [
    ['content-type', 'application/json'],
    ['webhook-id', delivery.id],
    ...(isSigned
      ? ([
          ['webhook-timestamp', '(set at each try)'],
          ['webhook-signature', '(made at each try)'],
        ] as const)
      : []),
    ...(webhook.headers ?? []).map(({ key }) => [key, '•••'] as const),
  ]
  return (
    <Panel title="Request" actions={<CopyButton label="Copy as curl" text={() => curlOf(webhook, delivery)} />}>
      <p className={styles['wrap']}>
        <code>POST {webhook.destination_url}</code>
      </p>
      <Facts rows={fields.map(([name, value]) => [name, <code key={name}>{value}</code>])} />
      <Code label="Body" text={body} />
    </Panel>
  )
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

function curlOf({ destination_url: url, headers = [] }: Webhook, { id, payload }: DeliveryDetails): string {
  const fields = ['content-type: application/json', `webhook-id: ${id}`, ...headers.map(({ key }) => `${key}: ...`)]
  return [
    `curl ${quoted(url)}`,
    ...fields.map((field) => `-H ${quoted(field)}`),
    `--data ${quoted(JSON.stringify(payload))}`,
  ].join(' \\\n  ')
}

function Try({ attempt, number }: { attempt: Attempt; number: number }) {
  const isGood = attempt.status_code >= 200 && attempt.status_code < 300
  return (
    <div className={styles['try']}>
      <p className={styles['line']}>
        <strong>Try {number}</strong>
        <State tone={isGood ? 'ok' : 'bad'}>{answerText(attempt.status_code)}</State>
        <Time at={attempt.at} />
        <span className="soft num">{ms(Math.round(attempt.duration_ms))}</span>
      </p>
      {attempt.error !== null && <p className={styles['wrap']}>{attempt.error}</p>}
      {attempt.response !== '' && <Code label={`Response to try ${number}`} text={attempt.response} />}
    </div>
  )
}
