import { remove } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { useAnalytics } from '../../analytics.ts'
import { useAddress, useGo, useParam, To } from '../../address.tsx'
import { Button } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { count, ms, percent } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { ActionMenu, Badge, Tabs } from '../../parts/panel.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { CodeTab } from './code-tab.tsx'
import { LogsTab } from './logs-tab.tsx'
import { OverviewTab } from './overview-tab.tsx'
import { SettingsTab } from './settings-tab.tsx'
import { TriggersTab } from './triggers-tab.tsx'
import { UploadSheet } from './upload-sheet.tsx'
import { useRollBack } from './roll-back.ts'
import { VersionsTab } from './versions-tab.tsx'
import { scriptPath, type Deployment, type Script } from './worker.ts'

const TABS = [
  ['overview', 'Overview'],
  ['logs', 'Logs'],
  ['triggers', 'Triggers'],
  ['settings', 'Settings'],
  ['versions', 'Versions'],
  ['code', 'Code'],
] as const

/** One Worker. */
export function WorkerPage({ script, mayWrite }: { script: Script; mayWrite: boolean }) {
  const { ofAccount } = usePlace()
  const { rest } = useAddress()
  const go = useGo()
  const [upload, setUpload] = useParam('upload')
  const path = scriptPath(ofAccount, script.id)
  const deployments = useRead<{ readonly deployments: readonly Deployment[] }>(`${path}/deployments`)
  const rollBack = useRollBack(path, deployments.value?.deployments ?? [])
  const tab = TABS.find(([key]) => key === rest[1])?.[0] ?? 'overview'
  const props = { script, path, mayWrite }
  const removal = useRemoval(script, path)
  return (
    <Page
      title={script.id}
      note={mayWrite ? <Figures name={script.id} /> : <Badge>Read only: needs Workers Scripts Write</Badge>}
      actions={
        mayWrite && (
          <>
            <Button icon="upload" onClick={() => setUpload('1')}>
              Upload
            </Button>
            {rollBack && (
              <Button icon="history" onClick={() => void rollBack()}>
                Roll back
              </Button>
            )}
            <ActionMenu
              label={`More for ${script.id}`}
              actions={[{ name: 'Delete', icon: 'trash', danger: true, run: () => void removal() }]}
            />
          </>
        )
      }
    >
      <p>
        <To to={{ rest: [] }}>All Workers</To>
      </p>
      <Tabs
        label={`Parts of ${script.id}`}
        value={tab}
        tabs={TABS.map(([key, name]) => [key, name])}
        onChange={(next) => go({ rest: next === 'overview' ? [script.id] : [script.id, next] })}
      />
      {tab === 'overview' && <OverviewTab {...props} />}
      {tab === 'logs' && <LogsTab {...props} />}
      {tab === 'triggers' && <TriggersTab {...props} />}
      {tab === 'settings' && <SettingsTab {...props} />}
      {tab === 'versions' && <VersionsTab {...props} />}
      {tab === 'code' && <CodeTab {...props} />}
      {upload === '1' && mayWrite && <UploadSheet script={script} onClose={() => setUpload(undefined)} />}
    </Page>
  )
}

/** `12,402 requests · 0.2 % errors · p95 48 ms`. */
function Figures({ name }: { name: string }) {
  const group = useAnalytics({ by: 'worker', limit: 100 }).value?.groups.find(({ key }) => key === name)
  if (!group) return <span className="soft">No requests in this time</span>
  return (
    <span className="soft num">
      {count(group.requests, 'request')} · {percent(group.errors, group.requests)} errors · p95{' '}
      {ms(group.duration_ms.p95)}
    </span>
  )
}

/** Returns what deletes the Worker after a question. */
function useRemoval({ id }: Script, path: string): () => Promise<void> {
  const { ofAccount } = usePlace()
  const go = useGo()
  const confirm = useConfirm()
  const toast = useToast()
  const work = useWork(async () => await remove(path), [`${ofAccount}/workers`])
  return async () => {
    const isSure = await confirm({
      title: `Delete Worker ${id}?`,
      text: 'All of its versions, secrets, Durable Objects, routes and domains are deleted with it.',
      verb: 'Delete',
      typed: id,
    })
    if (!isSure) return
    try {
      await work.run()
      toast(`Worker ${id} is deleted.`)
      go({ rest: [] })
    } catch (error) {
      toast(String(error), { kind: 'bad' })
    }
  }
}
