import { useState } from 'react'
import { post } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { CheckField, SelectField } from '../../parts/fields.tsx'
import { count, number } from '../../parts/format.ts'
import { Badge, Facts, Panel, State, Time } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import type { Finding, Instance } from './finding.ts'
import { Severity } from './severity.tsx'
import styles from './findings.module.css'

/** Instances that a sheet shows. */
const SHOWN = 100

interface Webhook {
  readonly id: string
  readonly label: string
  readonly status: string
}

/** One finding with its instances, which can be sent to a webhook by hand. */
export function FindingSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { ofAccount, may } = usePlace()
  const posture = `${ofAccount}/data-security/posture`
  const path = `${posture}/findings/${encodeURIComponent(id)}`
  const read = useRead<Finding>(path)
  return (
    <Sheet wide title={read.value?.finding.name ?? 'Finding'} onClose={onClose}>
      <SheetBody>
        <Shown read={read} what="the finding">
          {({ finding, integration, active_count: active, archived_count: archived, ignored }) => (
            <div className={styles['parts']}>
              <Facts
                rows={[
                  ['Severity', <Severity key="severity" {...finding} />],
                  ['Vendor', finding.vendor],
                  integration.name ? ['Integration', integration.name] : undefined,
                  ['Instances', `${number(active)} active, ${number(archived)} archived`],
                  ignored ? ['State', 'Ignored'] : undefined,
                  finding.description ? ['Description', finding.description] : undefined,
                  typeof finding.remediation === 'string' ? ['Remedy', finding.remediation] : undefined,
                ]}
              />
              <Instances path={path} posture={posture} mayWrite={may('Zero Trust Write')} />
            </div>
          )}
        </Shown>
      </SheetBody>
    </Sheet>
  )
}

function Instances({ path, posture, mayWrite }: { path: string; posture: string; mayWrite: boolean }) {
  const read = useRead<readonly Instance[]>(`${path}/instances?per_page=${SHOWN}`)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const toggle = (id: string, on: boolean): void =>
    setChosen((old) => new Set(on ? [...old, id] : [...old].filter((one) => one !== id)))
  const pick: Column<Instance> = {
    key: 'pick',
    title: 'Send',
    width: 96,
    card: 'menu',
    cell: ({ id, asset }) => (
      <CheckField
        label={<span className="visually-hidden">Send {asset.name ?? id}</span>}
        on={chosen.has(id)}
        onChange={(on) => toggle(id, on)}
      />
    ),
  }
  return (
    <Panel title="Instances">
      <Shown read={read} what="the instances">
        {(instances) => (
          <>
            {instances.length === 0 && <p className="soft">No instance.</p>}
            {instances.length > 0 && mayWrite && (
              <SendBar
                posture={posture}
                chosen={chosen}
                onAll={() => setChosen(new Set(instances.map(({ id }) => id)))}
                onDone={() => setChosen(new Set())}
              />
            )}
            {instances.length > 0 && (
              <DataTable
                label="Instances"
                rows={instances}
                columns={mayWrite ? [...COLUMNS, pick] : COLUMNS}
                keyOf={({ id }) => id}
                sortParam="instances"
              />
            )}
            {(read.info?.total_count ?? 0) > SHOWN && (
              <p className="soft">
                The first {SHOWN} of {number(read.info!.total_count)}.
              </p>
            )}
          </>
        )}
      </Shown>
    </Panel>
  )
}

const COLUMNS: readonly Column<Instance>[] = [
  { key: 'asset', title: 'Asset', cell: ({ asset, id }) => asset.name ?? asset.external_id ?? id, card: 'title' },
  { key: 'since', title: 'Since', cell: ({ affliction_date: at }) => <Time at={at} />, width: 130, card: 'fact' },
  { key: 'state', title: 'State', cell: ({ is_archived: old }) => old && <Badge>Archived</Badge>, width: 96 },
  { key: 'sent', title: 'Sent to', cell: (instance) => <SentTo instance={instance} />, card: 'state' },
]

function SentTo({ instance: { webhooks } }: { instance: Instance }) {
  if (webhooks.length === 0) return <span className="soft">Not sent</span>
  return (
    <span className={styles['line']}>
      {webhooks.map(({ webhook_label: label, latest_job: { status } }) => (
        <State key={label} tone={status === 'completed' ? 'ok' : status === 'failed' ? 'bad' : 'info'}>
          {label}
        </State>
      ))}
    </span>
  )
}

/** Sends the chosen instances to a webhook. */
function SendBar({
  posture,
  chosen,
  onAll,
  onDone,
}: {
  posture: string
  chosen: ReadonlySet<string>
  onAll: () => void
  onDone: () => void
}) {
  const webhooks = useRead<readonly Webhook[]>(`${posture}/webhooks`)
  const enabled = webhooks.value?.filter(({ status }) => status === 'enabled') ?? []
  const [wanted, setWanted] = useState('')
  const toast = useToast()
  const webhook = enabled.find(({ id }) => id === wanted) ?? enabled[0]
  const work = useWork(
    async (to: Webhook) =>
      await post<{ created: readonly unknown[]; failed: readonly { error: string }[] }>(`${posture}/webhooks/jobs`, {
        finding_instance_ids: [...chosen],
        webhook_ids: [to.id],
      }),
    [posture],
  )
  if (webhooks.value === undefined) return null
  if (!webhook) return <p className="soft">No webhook is on. Create one on the page Webhooks to send instances.</p>
  const send = async (): Promise<void> => {
    try {
      const { created, failed } = await work.run(webhook)
      if (failed.length > 0) toast(`${count(failed.length, 'instance')} not sent: ${failed[0]!.error}`, { kind: 'bad' })
      if (created.length > 0)
        toast(`${count(created.length, 'instance is', 'instances are')} sent to ${webhook.label}.`)
      onDone()
    } catch (error) {
      toast(String(error), { kind: 'bad' })
    }
  }
  return (
    <div className={styles['line']}>
      <SelectField
        label="Webhook"
        hideLabel
        value={webhook.id}
        options={enabled.map(({ id, label }) => [id, label])}
        onChange={setWanted}
      />
      <Button kind="primary" busy={work.busy} disabled={chosen.size === 0} onClick={() => void send()}>
        {chosen.size === 0 ? 'Send' : `Send ${count(chosen.size, 'instance')}`}
      </Button>
      <Button onClick={onAll}>Choose all</Button>
    </div>
  )
}
