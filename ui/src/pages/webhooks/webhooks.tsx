import { useRead } from '../../api/queries.ts'
import { useAddress, useGo } from '../../address.tsx'
import { Switch } from '../../parts/fields.tsx'
import { number } from '../../parts/format.ts'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { ActionMenu, Badge, Panel } from '../../parts/panel.tsx'
import { Empty, Problem, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { Portal } from './portal.tsx'
import { Success, useWebhookActions, WebhookState } from './webhook-state.tsx'
import { WebhookSheet } from './webhook-sheet.tsx'
import type { Webhook } from './webhook.ts'

const EVERY_MS = 5000

/** Destinations of findings: a list, and a page for each. */
export default function Webhooks() {
  const { ofAccount, may } = usePlace()
  const { rest } = useAddress()
  const go = useGo()
  const read = useRead<readonly Webhook[]>(`${ofAccount}/data-security/posture/webhooks`, { every: EVERY_MS })
  const mayWrite = may('Zero Trust Write')
  const [id, part] = rest
  const webhook = read.value?.find((one) => one.id === id)
  if (id !== undefined && id !== 'new' && webhook)
    return (
      <>
        <Portal key={id} webhook={webhook} mayWrite={mayWrite} />
        {part === 'edit' && mayWrite && <WebhookSheet webhook={webhook} onClose={() => go({ rest: [id] })} />}
      </>
    )
  return (
    <Page
      note={!mayWrite && <Badge>Read only: needs Zero Trust Write</Badge>}
      actions={mayWrite && <NewButton label="New webhook" />}
    >
      <Panel>
        <Shown read={read} what="the webhooks">
          {(webhooks) =>
            id !== undefined && id !== 'new' ? (
              <Problem title="No webhook with this id, or this token cannot see it" />
            ) : webhooks.length === 0 ? (
              <Empty
                title="No webhooks"
                text="A webhook gets findings as JSON, signed, with retries and a record of each attempt."
                docs="webhooks.html"
                action={mayWrite && <NewButton label="New webhook" isPlain />}
              />
            ) : (
              <List webhooks={webhooks} mayWrite={mayWrite} />
            )
          }
        </Shown>
      </Panel>
      {id === 'new' && mayWrite && <WebhookSheet onClose={() => go({ rest: [] })} />}
    </Page>
  )
}

const COLUMNS: readonly Column<Webhook>[] = [
  { key: 'name', title: 'Name', cell: ({ label }) => label, sort: ({ label }) => label, card: 'title' },
  { key: 'state', title: 'State', cell: (webhook) => <WebhookState webhook={webhook} />, card: 'state' },
  { key: 'url', title: 'Address', cell: ({ destination_url: url }) => <code>{url}</code>, card: 'fact' },
  { key: 'success', title: 'Success in 24 h', cell: (webhook) => <Success webhook={webhook} />, width: 160 },
  {
    key: 'waiting',
    title: 'Waiting',
    cell: ({ edged }) => number(edged.waiting),
    sort: ({ edged }) => edged.waiting,
    numeric: true,
    width: 96,
    card: 'fact',
  },
]

function List({ webhooks, mayWrite }: { webhooks: readonly Webhook[]; mayWrite: boolean }) {
  const go = useGo()
  const actions = useWebhookActions()
  const menu: Column<Webhook> = {
    key: 'menu',
    title: '',
    width: 110,
    card: 'menu',
    cell: (webhook) => (
      <>
        <Switch
          label={`${webhook.label} is on`}
          on={webhook.status === 'enabled'}
          onChange={(on) => void actions.toggle(webhook, on)}
        />{' '}
        <ActionMenu
          label={`More for ${webhook.label}`}
          actions={[
            { name: 'Send test', icon: 'webhook', run: () => void actions.test(webhook) },
            { name: 'Edit', icon: 'settings', run: () => go({ rest: [webhook.id, 'edit'] }) },
            { name: 'Delete', icon: 'trash', danger: true, run: () => void actions.remove(webhook) },
          ]}
        />
      </>
    ),
  }
  return (
    <DataTable
      label="Webhooks"
      rows={webhooks}
      columns={mayWrite ? [...COLUMNS, menu] : COLUMNS}
      keyOf={({ id }) => id}
      onOpen={({ id }) => go({ rest: [id] })}
      onEdit={mayWrite ? ({ id }) => go({ rest: [id, 'edit'] }) : undefined}
      nameOf={({ label }) => label}
      isOff={({ status }) => status === 'disabled'}
    />
  )
}
