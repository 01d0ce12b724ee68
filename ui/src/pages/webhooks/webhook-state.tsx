import { useEffect, useState } from 'react'
import { post, remove } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { useConfirm } from '../../parts/confirm.tsx'
import { count, percent } from '../../parts/format.ts'
import { State } from '../../parts/panel.tsx'
import { Sparkline } from '../../parts/sparkline.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { replaceWebhook, successOf, type Webhook } from './webhook.ts'

const TICK_MS = 1000

/** Returns the seconds until a time, and counts down. */
function useSecondsUntil(at: string | null): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    if (at === null) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [at])
  return at === null ? 0 : Math.max(0, Math.round((new Date(at).getTime() - now) / 1000))
}

/** `4:12`. */
const countdown = (seconds: number): string => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** `next try in 4:12`, counting down. */
export function NextTry({ at }: { at: string | null }) {
  const seconds = useSecondsUntil(at)
  return <span className="num">{seconds === 0 ? 'tries now' : `next try in ${countdown(seconds)}`}</span>
}

export function WebhookState({ webhook: { status, disabled_reason: reason, edged } }: { webhook: Webhook }) {
  if (status === 'disabled') return <State tone="off">Off{reason ? `: ${reason}` : ''}</State>
  if (edged.state === 'paused')
    return (
      <State tone="bad">
        Paused, <NextTry at={edged.next_try_at} />
      </State>
    )
  if (edged.state === 'failing') return <State tone="bad">Failing</State>
  return <State tone="ok">Healthy</State>
}

/** `99.2 % of 312` with a line of the last 24 hours. */
export function Success({ webhook }: { webhook: Webhook }) {
  const { ok, all } = successOf(webhook)
  if (all === 0) return <span className="soft">Nothing sent</span>
  const shares = webhook.edged.success.map(([good, failed]) => (good + failed === 0 ? null : good / (good + failed)))
  return (
    <>
      <span className="num">{percent(ok, all)}</span>{' '}
      {shares.filter((share) => share !== null).length > 1 && (
        <Sparkline values={shares} label="Share of attempts that succeeded, by hour" color="--ok" width={64} />
      )}
    </>
  )
}

/** Changes that a row and the page of a webhook offer. */
export function useWebhookActions() {
  const { ofAccount } = usePlace()
  const posture = `${ofAccount}/data-security/posture`
  const toast = useToast()
  const confirm = useConfirm()
  const work = useWork(async (run: () => Promise<void>) => await run(), [posture, `${ofAccount}/edged/attention`])
  const start = async (run: () => Promise<void>): Promise<boolean> => {
    try {
      await work.run(run)
      return true
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { kind: 'bad' })
      return false
    }
  }
  const set = async (webhook: Webhook, status: Webhook['status']): Promise<unknown> =>
    await replaceWebhook(posture, webhook, { status })
  return {
    posture,
    busy: work.busy,
    start,
    toggle: async (webhook: Webhook, on: boolean) =>
      await start(async () => {
        await set(webhook, on ? 'enabled' : 'disabled')
        toast(`${webhook.label} is ${on ? 'on' : 'off'}.`, {
          undo: async () => {
            await set(webhook, on ? 'disabled' : 'enabled')
            await start(async () => await Promise.resolve())
          },
        })
      }),
    test: async (webhook: Webhook) =>
      await start(async () => {
        const result = await post<{ success: boolean; status_code: number; message: string }>(
          `${posture}/webhooks/${webhook.id}/evaluate`,
        )
        const said = result.message || String(result.status_code)
        if (result.success) toast(`${webhook.label} accepted the test: ${said}`)
        else toast(`${webhook.label} did not accept the test: ${said}`, { kind: 'bad' })
      }),
    tryNow: async (webhook: Webhook) =>
      await start(async () => {
        const { attempted } = await post<{ attempted: boolean }>(`${posture}/webhooks/${webhook.id}/edged/try`)
        toast(attempted ? `${webhook.label} is tried now.` : `Nothing waits for ${webhook.label}.`)
      }),
    remove: async (webhook: Webhook) => {
      const { waiting } = webhook.edged
      const isSure = await confirm({
        title: `Delete webhook ${webhook.label}?`,
        text:
          waiting > 0
            ? `${count(waiting, 'waiting delivery fails', 'waiting deliveries fail')}.`
            : 'Nothing waits for it. Its deliveries stay in the list.',
        verb: 'Delete',
      })
      return (
        isSure &&
        (await start(async () => {
          await remove(`${posture}/webhooks/${webhook.id}`)
          toast(`Webhook ${webhook.label} is deleted.`)
        }))
      )
    },
  }
}
