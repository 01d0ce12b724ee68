import { post } from '../../api/client.ts'
import { PER_PAGE, useRead } from '../../api/queries.ts'
import { useGo, useParam, useAddress } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { ago, count, number } from '../../parts/format.ts'
import { Pager, usePageNumber } from '../../parts/pager.tsx'
import { Panel, State, Tabs, Time } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useWebhookActions } from './webhook-state.tsx'
import { TABS, type Delivery, type Webhook } from './webhook.ts'

const EVERY_MS = 5000

/** Outcome of a request to send all again. */
interface Retried {
  readonly retried: number
  readonly disabled: number
  readonly over_limit: number
}

/** What was sent to a webhook, newest first. */
export function Deliveries({ webhook, mayWrite }: { webhook: Webhook; mayWrite: boolean }) {
  const actions = useWebhookActions()
  const go = useGo()
  const { rest, search } = useAddress()
  const [tab] = useParam('tab', 'all')
  const [, , filter] = TABS.find(([key]) => key === tab) ?? TABS[0]
  const page = usePageNumber()
  const read = useRead<readonly Delivery[]>(
    `${actions.posture}/webhooks/jobs?webhook_id=${webhook.id}&${filter}${filter && '&'}page=${page}&per_page=${PER_PAGE}`,
    { every: EVERY_MS, keep: true },
  )
  const again: Column<Delivery> = {
    key: 'again',
    title: '',
    width: 110,
    card: 'menu',
    cell: (delivery) =>
      (delivery.status === 'failed' || delivery.status === 'completed') && (
        <Button
          size="small"
          aria-label={`Send again: ${nameOf(delivery)}`}
          disabled={webhook.status === 'disabled'}
          onClick={() =>
            void actions.start(async () => {
              await post(`${actions.posture}/webhooks/jobs/${delivery.id}/retry`)
            })
          }
        >
          Send again
        </Button>
      ),
  }
  return (
    <Panel title="Deliveries" actions={mayWrite && <SendFailed webhook={webhook} />}>
      <Tabs
        label="Deliveries"
        value={tab}
        tabs={TABS.map(([key, name]) => [key, name])}
        onChange={(next) =>
          go(
            { rest, search: { ...search, page: undefined, tab: next === 'all' ? undefined : next } },
            { replace: true },
          )
        }
      />
      <Shown read={read} what="the deliveries">
        {(list) =>
          list.length === 0 ? (
            <p className="soft">{EMPTY[tab] ?? EMPTY['all']}</p>
          ) : (
            <>
              <DataTable
                label="Deliveries"
                rows={list}
                columns={mayWrite ? [...COLUMNS, again] : COLUMNS}
                keyOf={({ id }) => id}
                nameOf={nameOf}
                onOpen={({ id }) => go({ rest: [webhook.id, 'deliveries', id], search })}
              />
              <Pager total={read.info?.total_count ?? 0} what="the deliveries" />
            </>
          )
        }
      </Shown>
    </Panel>
  )
}

const EMPTY: Readonly<Record<string, string>> = {
  all: 'Nothing was sent yet. Policies send findings by themselves; on the page Findings you send them by hand.',
  failed: 'No delivery has failed for good. Deliveries that will be tried again are under Waiting.',
  waiting: 'Nothing waits.',
  delivered: 'Nothing was delivered yet.',
  tests: 'No tests. “Send test” makes one.',
}

const NONE_FAILED = 'No delivery has failed for good. “Try now” sends what waits.'

const WHAT: Readonly<Record<Delivery['kind'], string>> = { finding: 'Finding', manual: 'Sent by hand', test: 'Test' }

/** `Finding · bucket logs`. */
export const nameOf = ({ kind, asset_data: { name, external_id: id } }: Delivery): string =>
  [WHAT[kind], name ?? id].filter((part) => part !== undefined).join(' · ')

export function DeliveryState({ delivery: { status, attempts, next_try_at: next } }: { delivery: Delivery }) {
  if (status === 'completed') return <State tone="ok">Delivered</State>
  if (status === 'failed') return <State tone="bad">Failed</State>
  if (status === 'processing') return <State tone="info">Sending…</State>
  return (
    <State tone={attempts > 0 ? 'warn' : 'info'}>
      Waiting{next ? (new Date(next) > new Date() ? `, next try ${ago(next)}` : ' for its turn') : ''}
    </State>
  )
}

const COLUMNS: readonly Column<Delivery>[] = [
  { key: 'what', title: 'What', cell: nameOf, card: 'title' },
  { key: 'at', title: 'Time', cell: ({ created_at: at }) => <Time at={at} />, width: 120, card: 'fact' },
  { key: 'state', title: 'State', cell: (delivery) => <DeliveryState delivery={delivery} />, card: 'state' },
  { key: 'answer', title: 'Answer', cell: ({ last_status_code: code }) => answerText(code), width: 110, card: 'fact' },
  { key: 'tries', title: 'Tries', cell: ({ attempts }) => number(attempts), numeric: true, width: 96 },
]

export const answerText = (code: number | null): string =>
  code === null ? '–' : code === 0 ? 'No answer' : String(code)

/** Sends all failed deliveries of a webhook again, after a question with their number. */
function SendFailed({ webhook }: { webhook: Webhook }) {
  const { posture, start, busy } = useWebhookActions()
  const confirm = useConfirm()
  const toast = useToast()
  const path = `${posture}/webhooks/jobs/retry`
  const filter = { status: 'failed', webhook_id: webhook.id }
  const send = async (): Promise<void> => {
    await start(async () => {
      const { retried, disabled, over_limit: over } = await post<Retried>(path, { ...filter, count_only: true })
      if (retried === 0) {
        toast(disabled > 0 ? `${webhook.label} is off. Switch it on first.` : NONE_FAILED)
        return
      }
      const isSure = await confirm({
        title: `Send ${count(retried, 'delivery', 'deliveries')} again?`,
        text: `They go to ${webhook.label} with the same ids and bodies, so that the receiver can drop repetitions.${
          over > 0 ? ` ${number(over)} more are beyond the limit of waiting deliveries.` : ''
        }`,
        verb: 'Send again',
        danger: false,
      })
      if (!isSure) return
      const done = await post<Retried>(path, filter)
      toast(`${count(done.retried, 'delivery is', 'deliveries are')} sent again.`)
    })
  }
  return (
    <Button size="small" busy={busy} onClick={() => void send()}>
      Send failed again…
    </Button>
  )
}
