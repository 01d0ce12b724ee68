import { useState } from 'preact/hooks'
import { post } from '../api.ts'
import { PER_PAGE, useLast, useRead, useWork } from '../hooks.ts'
import { Loaded, Panel, Problem, Time } from '../parts.tsx'
import { Pager, Table } from '../table.tsx'
import { usePlace } from '../place.ts'
import { Tail } from './tail.tsx'
import { Domains } from './worker-domains.tsx'
import { UploadScript } from './worker-upload.tsx'

interface Script {
  readonly id: string
  readonly modified_on: string
  readonly handlers?: readonly string[]
  readonly has_assets?: boolean
  readonly compatibility_date?: string
}
interface Version {
  readonly id: string
  readonly number: number
  readonly metadata?: { readonly created_on?: string; readonly source?: string; readonly author_email?: string }
}
interface Share {
  readonly version_id: string
  readonly percentage: number
}
interface Deployment {
  readonly id: string
  readonly created_on: string
  readonly author_email?: string
  readonly versions: readonly Share[]
}

/** Scripts, what of them is deployed, where they respond, and their logs. */
export function Workers() {
  const { ofAccount } = usePlace()
  const scripts = useRead<readonly Script[]>(`${ofAccount}/workers/scripts`, 15_000)
  const [shown, setShown] = useState<string>()
  // The details describe the newest upload.
  const modified = scripts.value?.find(({ id }) => id === shown)?.modified_on
  return (
    <>
      <Panel title="Scripts">
        <Loaded read={scripts}>
          {(list) => (
            <Table
              caption="Scripts"
              keyOf={({ id }) => id}
              textOf={({ id }) => id}
              rows={list}
              empty="No scripts. Upload one below, or with wrangler deploy."
              columns={[
                ['Name', ({ id }) => id],
                ['Changed', ({ modified_on: at }) => <Time at={at} />],
                ['Handlers', ({ handlers = [] }) => handlers.join(', ') || '–'],
                ['Assets', ({ has_assets: assets }) => (assets ? 'yes' : 'no')],
                ['Compatibility', ({ compatibility_date: date }) => date ?? '–'],
                [
                  '',
                  ({ id }) => (
                    <button
                      type="button"
                      aria-expanded={shown === id}
                      aria-label={`Details of ${id}`}
                      onClick={() => setShown(shown === id ? undefined : id)}
                    >
                      Details
                    </button>
                  ),
                ],
              ]}
            />
          )}
        </Loaded>
        <UploadScript onDone={scripts.reload} />
      </Panel>
      {shown !== undefined && <Details key={`${shown} ${modified}`} name={shown} />}
      <Domains scripts={scripts.value?.map(({ id }) => id) ?? []} />
    </>
  )
}

function Details({ name }: { name: string }) {
  const { ofAccount } = usePlace()
  const path = `${ofAccount}/workers/scripts/${encodeURIComponent(name)}`
  const [page, setPage] = useState(1)
  const versions = useLast(
    useRead<{ readonly items: readonly Version[] }>(`${path}/versions?per_page=${PER_PAGE}&page=${page}`),
  )
  const deployments = useRead<{ readonly deployments: readonly Deployment[] }>(`${path}/deployments`)
  const active = deployments.value?.deployments[0]
  const numbers = new Map(versions.value?.items.map(({ id, number }) => [id, number]))
  const openTail = async () => {
    const { url } = await post<{ url: string }>(`${path}/tails`, {})
    return { url, protocol: 'trace-v1' }
  }
  return (
    <Panel title={`Worker ${name}`}>
      <h3>Versions</h3>
      <Loaded read={versions}>
        {({ items }) => (
          <>
            <Split
              key={active?.id}
              path={path}
              versions={items}
              active={active?.versions ?? []}
              onDone={deployments.reload}
            />
            <Pager caption="Versions" page={page} total={versions.info?.total_count ?? 0} onPage={setPage} />
          </>
        )}
      </Loaded>
      <h3>Deployments</h3>
      <Loaded read={deployments}>
        {({ deployments: list }) => (
          <Table
            caption="Deployments"
            rows={list}
            empty="Not deployed."
            columns={[
              ['Time', ({ created_on: at }) => <Time at={at} />],
              ['By', ({ author_email: by }) => by ?? '–'],
              [
                'Versions',
                ({ versions: shares }) =>
                  shares
                    .map(({ version_id: id, percentage }) => `${numbers.get(id) ?? id}: ${percentage} %`)
                    .join(', '),
              ],
            ]}
          />
        )}
      </Loaded>
      <h3>Calls and logs, live</h3>
      <Tail open={openTail} />
    </Panel>
  )
}

/** The versions with the share of requests that each gets. */
function Split({
  path,
  versions,
  active,
  onDone,
}: {
  path: string
  versions: readonly Version[]
  active: readonly Share[]
  onDone: () => void
}) {
  const [shares, setShares] = useState<ReadonlyMap<string, string>>(
    new Map(active.map(({ version_id: id, percentage }) => [id, String(percentage)])),
  )
  const { busy, error, run } = useWork()
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        run(async () => {
          const chosen = [...shares].flatMap(([version_id, text]) =>
            Number(text) > 0 ? { version_id, percentage: Number(text) } : [],
          )
          await post(`${path}/deployments`, { strategy: 'percentage', versions: chosen })
          onDone()
        })
      }}
    >
      <Table
        caption="Versions"
        keyOf={({ id }) => id}
        rows={versions}
        empty="No versions."
        columns={[
          ['Version', ({ number }) => number],
          ['Id', ({ id }) => <code>{id}</code>],
          ['Created', ({ metadata }) => <Time at={metadata?.created_on} />],
          ['Source', ({ metadata }) => metadata?.source ?? '–'],
          [
            'Share in %',
            ({ id, number }) => (
              <input
                type="number"
                min="0"
                max="100"
                step="0.01"
                aria-label={`Share of version ${number} in percent`}
                value={shares.get(id) ?? ''}
                onInput={(event) => setShares(new Map([...shares, [id, event.currentTarget.value]]))}
              />
            ),
          ],
        ]}
      />
      <Problem text={error} />
      <button type="submit" aria-disabled={busy}>
        Deploy these shares
      </button>
    </form>
  )
}
