import { useState } from 'react'
import { post } from '../../api/client.ts'
import { useRead } from '../../api/queries.ts'
import { useAddress, useGo, To } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { Switch } from '../../parts/fields.tsx'
import { count } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { ActionMenu, Facts, Panel, Time } from '../../parts/panel.tsx'
import { Notice } from '../../parts/states.tsx'
import { answerText, Deliveries } from './deliveries.tsx'
import { DeliverySheet } from './delivery-sheet.tsx'
import { SecretSheet } from './secret-sheet.tsx'
import { NextTry, Success, useWebhookActions, WebhookState } from './webhook-state.tsx'
import { replaceWebhook, successOf, type Delivery, type Webhook } from './webhook.ts'
import styles from './webhooks.module.css'

const EVERY_MS = 5000
/** Waiting deliveries among which the last answer is searched. */
const WAITING = 100

/** One webhook: its state, its secret, and what was sent to it. */
export function Portal({ webhook, mayWrite }: { webhook: Webhook; mayWrite: boolean }) {
  const go = useGo()
  const { rest } = useAddress()
  const actions = useWebhookActions()
  const { id, label } = webhook
  const remove = async (): Promise<void> => {
    if (await actions.remove(webhook)) go({ rest: [] })
  }
  const [, part, delivery] = rest
  return (
    <Page
      title={label}
      note={<WebhookState webhook={webhook} />}
      actions={
        mayWrite && (
          <>
            <Switch
              label={`${label} is on`}
              on={webhook.status === 'enabled'}
              onChange={(on) => void actions.toggle(webhook, on)}
            />
            <Button busy={actions.busy} onClick={() => void actions.test(webhook)}>
              Send test
            </Button>
            <Button icon="settings" onClick={() => go({ rest: [id, 'edit'] })}>
              Edit
            </Button>
            <ActionMenu
              label={`More for ${label}`}
              actions={[{ name: 'Delete', icon: 'trash', danger: true, run: () => void remove() }]}
            />
          </>
        )
      }
    >
      <p>
        <To to={{ rest: [] }}>All webhooks</To>
      </p>
      <Paused webhook={webhook} mayWrite={mayWrite} />
      <Health webhook={webhook} mayWrite={mayWrite} />
      <Deliveries webhook={webhook} mayWrite={mayWrite} />
      {part === 'deliveries' && delivery !== undefined && (
        <DeliverySheet webhook={webhook} id={delivery} mayWrite={mayWrite} />
      )}
    </Page>
  )
}

function Paused({ webhook, mayWrite }: { webhook: Webhook; mayWrite: boolean }) {
  const actions = useWebhookActions()
  const { status, edged, disabled_reason: reason } = webhook
  const isWell = status === 'disabled' || edged.state === 'healthy'
  // The oldest ones have been tried most often.
  const last = useRead<readonly Delivery[]>(
    isWell ? undefined : `${actions.posture}/webhooks/jobs?webhook_id=${webhook.id}&status=pending&per_page=${WAITING}`,
    { every: EVERY_MS },
  )
  if (status === 'disabled') return reason ? <Notice kind="warn">Switched off by the daemon: {reason}</Notice> : null
  if (edged.state === 'healthy') return null
  const isPaused = edged.state === 'paused'
  const answer = last.value?.find(({ last_status_code: code }) => code !== null)?.last_status_code
  return (
    <Notice
      kind="bad"
      action={
        mayWrite && (
          <Button size="small" busy={actions.busy} onClick={() => void actions.tryNow(webhook)}>
            Try now
          </Button>
        )
      }
    >
      {isPaused ? (
        <>
          Paused after {count(edged.failures, 'failure')}, <NextTry at={edged.next_try_at} />
        </>
      ) : (
        <>{edged.failures > 0 ? `${count(edged.failures, 'failure')} in a row` : 'The last attempt failed'}</>
      )}
      , {count(edged.waiting, 'waits', 'wait')}.{answer != null && ` The receiver answered: ${answerText(answer)}.`}
      {edged.failing_since !== null && (
        <>
          {' '}
          Since <Time at={edged.failing_since} />.
        </>
      )}
    </Notice>
  )
}

function Health({ webhook, mayWrite }: { webhook: Webhook; mayWrite: boolean }) {
  const { authentication_type: type, headers = [], edged } = webhook
  const { all } = successOf(webhook)
  const isSigned = type === 'HMAC-Signing'
  return (
    <Panel>
      <Facts
        rows={[
          [
            'Address',
            <code key="url" className={styles['wrap']}>
              {webhook.destination_url}
            </code>,
          ],
          [
            'Success in 24 h',
            <span key="success">
              <Success webhook={webhook} /> {all > 0 && <span className="soft">of {count(all, 'attempt')}</span>}
            </span>,
          ],
          ['Waiting', count(edged.waiting, 'delivery', 'deliveries')],
          [
            'Authentication',
            isSigned ? (
              <span key="secret" className={styles['line']}>
                Signed, secret whsec_•••• {mayWrite && <Rotate webhook={webhook} />}
              </span>
            ) : headers.length > 0 ? (
              `${type}: ${headers.map(({ key }) => key).join(', ')}`
            ) : (
              type
            ),
          ],
        ]}
      />
    </Panel>
  )
}

/** Replaces the signing secret. The new one is shown once. */
function Rotate({ webhook }: { webhook: Webhook }) {
  const actions = useWebhookActions()
  const confirm = useConfirm()
  const [secret, setSecret] = useState<string>()
  const rotate = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Rotate the secret of ${webhook.label}?`,
      text: 'Deliveries are signed with both secrets for 24 hours. Give the new one to the receiver in this time.',
      verb: 'Rotate',
      danger: false,
    })
    if (!isSure) return
    await actions.start(async () => {
      const path = `${actions.posture.replace('/data-security/posture', '')}/edged/signing_secrets`
      const { signing_secret: made } = await post<{ signing_secret: string }>(path)
      await replaceWebhook(actions.posture, webhook, { signing_secret: made })
      setSecret(made)
    })
  }
  return (
    <>
      <Button size="small" icon="refresh" busy={actions.busy} onClick={() => void rotate()}>
        Rotate
      </Button>
      {secret !== undefined && (
        <SecretSheet label={webhook.label} secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </>
  )
}
