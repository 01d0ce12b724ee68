import { useState } from 'react'
import { messageOf } from '../../api/client.ts'
import { PER_PAGE, useRead } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { number } from '../../parts/format.ts'
import { Pager, usePageNumber } from '../../parts/pager.tsx'
import { Badge, Panel, Time } from '../../parts/panel.tsx'
import { Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { useDeploy } from './roll-back.ts'
import type { Deployment, Share, Version } from './worker.ts'
import styles from './workers.module.css'

/** Versions with their shares of requests, and what was deployed. */
export function VersionsTab({ path, mayWrite }: { path: string; mayWrite: boolean }) {
  const page = usePageNumber()
  const versions = useRead<{ readonly items: readonly Version[] }>(
    `${path}/versions?per_page=${PER_PAGE}&page=${page}`,
    { keep: true },
  )
  const deployments = useRead<{ readonly deployments: readonly Deployment[] }>(`${path}/deployments`)
  const list = deployments.value?.deployments
  const numbers = new Map(versions.value?.items.map(({ id, number: no }) => [id, no]))
  return (
    <>
      <Panel title="Versions">
        <Shown read={versions} what="the versions">
          {({ items }) =>
            list === undefined ? null : (
              <>
                <Split
                  key={list[0]?.id ?? ''}
                  path={path}
                  versions={items}
                  active={list[0]?.versions ?? []}
                  mayWrite={mayWrite}
                />
                <Pager total={versions.info?.total_count ?? 0} what="the versions" />
              </>
            )
          }
        </Shown>
      </Panel>
      <Panel title="Deployments">
        <Shown read={deployments} what="the deployments">
          {({ deployments: all }) =>
            all.length === 0 ? (
              <p className="soft">Nothing is deployed.</p>
            ) : (
              <DataTable
                label="Deployments"
                rows={all}
                columns={deploymentColumns(numbers, all[0]!.id)}
                keyOf={({ id }) => id}
                sortParam="deployments"
              />
            )
          }
        </Shown>
      </Panel>
    </>
  )
}

const sharesText = (shares: readonly Share[], numbers: ReadonlyMap<string, number>): string =>
  shares
    .map(({ version_id: id, percentage }) => `version ${numbers.get(id) ?? id.slice(0, 8)}: ${number(percentage)} %`)
    .join(', ')

const deploymentColumns = (numbers: ReadonlyMap<string, number>, activeId: string): readonly Column<Deployment>[] => [
  { key: 'at', title: 'Time', cell: ({ created_on: at }) => <Time at={at} />, width: 140, card: 'title' },
  { key: 'what', title: 'Versions', cell: ({ versions }) => sharesText(versions, numbers), card: 'fact' },
  { key: 'by', title: 'By', cell: ({ author_email: by, source }) => by || source || '–', card: 'fact' },
  {
    key: 'state',
    title: '',
    cell: ({ id }) => id === activeId && <Badge tone="ok">Active</Badge>,
    width: 96,
    card: 'state',
  },
]

/** Names the version that an error is about. */
function errorText(failure: unknown, chosen: readonly Share[], versions: readonly Version[]): string {
  return messageOf(failure).replace(/^\/versions\/(\d+)(?:\/\w+)?: /, (_, at: string) => {
    const version = versions.find(({ id }) => id === chosen[Number(at)]?.version_id)
    return version ? `Version ${version.number}: ` : ''
  })
}

/** The share of requests that each version gets. */
function Split({
  path,
  versions,
  active,
  mayWrite,
}: {
  path: string
  versions: readonly Version[]
  active: readonly Share[]
  mayWrite: boolean
}) {
  const toast = useToast()
  const deploy = useDeploy(path)
  const [shares, setShares] = useState<ReadonlyMap<string, string>>(
    new Map(active.map(({ version_id: id, percentage }) => [id, String(percentage)])),
  )
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const before = active
  const run = async (chosen: readonly Share[]): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      await deploy(chosen)
      toast('Deployed.', { undo: async () => await deploy(before) })
    } catch (failure) {
      setError(errorText(failure, chosen, versions))
    } finally {
      setBusy(false)
    }
  }
  const current = new Map(active.map(({ version_id: id, percentage }) => [id, percentage]))
  const columns: Column<Version>[] = [
    { key: 'number', title: 'Version', cell: (one) => `Version ${one.number}`, width: 110, card: 'title' },
    {
      key: 'at',
      title: 'Created',
      cell: ({ metadata }) => <Time at={metadata?.created_on} />,
      width: 140,
      card: 'fact',
    },
    {
      key: 'note',
      title: 'Note',
      cell: ({ annotations, metadata }) =>
        annotations?.['workers/message'] ?? annotations?.['workers/triggered_by'] ?? metadata?.source ?? '–',
    },
    {
      key: 'share',
      title: 'Share',
      width: 120,
      card: 'state',
      cell: ({ id, number: no }) =>
        mayWrite ? (
          <span>
            <input
              className={styles['share']}
              type="number"
              min="0"
              max="100"
              step="0.01"
              aria-label={`Share of version ${no} in percent`}
              value={shares.get(id) ?? ''}
              onChange={(event) => setShares(new Map([...shares, [id, event.currentTarget.value]]))}
            />{' '}
            %
          </span>
        ) : (
          `${number(current.get(id) ?? 0)} %`
        ),
    },
    {
      key: 'menu',
      title: '',
      width: 130,
      card: 'menu',
      cell: ({ id, number: no }) =>
        mayWrite &&
        current.get(id) !== 100 && (
          <Button
            size="small"
            aria-label={`Deploy version ${no} alone`}
            onClick={() => void run([{ version_id: id, percentage: 100 }])}
          >
            Deploy
          </Button>
        ),
    },
  ]
  const chosen = [...shares].flatMap(([version_id, text]) =>
    Number(text) > 0 ? [{ version_id, percentage: Number(text) }] : [],
  )
  const sum = chosen.reduce((all, { percentage }) => all + percentage, 0)
  const isChanged =
    chosen.length !== active.length || chosen.some((one) => current.get(one.version_id) !== one.percentage)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void run(chosen)
      }}
    >
      <DataTable label="Versions" rows={versions} columns={columns} keyOf={({ id }) => id} sortParam="versions" />
      {error !== undefined && <Notice kind="bad">{error}</Notice>}
      {mayWrite && isChanged && (
        <p className={styles['line']}>
          <span className="soft">
            {sum === 100 ? 'Each client stays with one version.' : `The shares are ${number(sum)} %, not 100 %.`}
          </span>
          <Button type="submit" kind="primary" busy={isBusy}>
            Deploy these shares
          </Button>
        </p>
      )}
    </form>
  )
}
