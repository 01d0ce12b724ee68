import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { placed, post, put, remove, sendWhole } from '../../api/client.ts'
import { useRead, useWork, type Work } from '../../api/queries.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace, useZones } from '../../place.tsx'
import { LineForm, OwnTable } from './line-form.tsx'
import type { Script } from './worker.ts'
import styles from './workers.module.css'

interface Props {
  readonly script: Script
  readonly path: string
  readonly mayWrite: boolean
}

/** What calls a Worker: routes, domains and schedules. */
export const TriggersTab = (props: Props) => (
  <>
    <Routes {...props} />
    <Domains {...props} />
    <Schedules {...props} />
  </>
)

interface Route {
  readonly id: string
  readonly pattern: string
  readonly script?: string
}
interface ZoneRoute extends Route {
  readonly zone: string
  readonly zonePath: string
}

/** The API counts requests, so routes of further zones are not read. */
const MAX_ZONES = 60

function Routes({ script, mayWrite }: Props) {
  const { account } = usePlace()
  const zones = (useZones().value ?? []).filter((zone) => zone.account.id === account.id).slice(0, MAX_ZONES)
  const reads = useQueries({
    queries: zones.map(({ id }) => ({
      queryKey: [`/zones/${id}/workers/routes`],
      queryFn: async () => await sendWhole<readonly Route[]>('GET', `/zones/${id}/workers/routes`),
    })),
  })
  const routes = reads.flatMap(({ data }, at) =>
    (data?.result ?? [])
      .filter((route) => route.script === script.id)
      .map((route): ZoneRoute => ({ ...route, zone: zones[at]!.name, zonePath: `/zones/${zones[at]!.id}` })),
  )
  const [pattern, setPattern] = useState('')
  const [zoneId, setZoneId] = useState('')
  const zone = zones.find(({ id }) => id === zoneId) ?? zones[0]
  const add = useWork(async () => {
    await post(`/zones/${zone!.id}/workers/routes`, { pattern, script: script.id })
    setPattern('')
  })
  const removal = useWork(async ({ zonePath, id }: ZoneRoute) => await remove(`${zonePath}/workers/routes/${id}`))
  const take = useRemoval<ZoneRoute>(removal, ({ zonePath, pattern: name }) => ({
    text: `Route ${name} is removed.`,
    undo: async () => await post(`${zonePath}/workers/routes`, { pattern: name, script: script.id }),
  }))
  const { at, rest } = placed(add.failure, ['/pattern'])
  const columns: Column<ZoneRoute>[] = [
    { key: 'pattern', title: 'Pattern', cell: (route) => <code>{route.pattern}</code>, card: 'title' },
    { key: 'zone', title: 'Zone', cell: (route) => route.zone, card: 'fact' },
    ...removeColumn<ZoneRoute>(mayWrite, ({ pattern: name }) => name, take),
  ]
  return (
    <Panel title="Routes" docs="workers.html">
      <OwnTable
        label="Routes"
        rows={routes}
        columns={columns}
        keyOf={({ id }) => id}
        none="No routes. A route sends requests of a zone to the Worker."
      />
      {mayWrite && zone && (
        <LineForm
          verb="Add route"
          busy={add.busy}
          onSubmit={() => {
            add.start()
          }}
        >
          <TextField
            label="New route"
            placeholder={`${zone.name}/api/*`}
            value={pattern}
            onChange={setPattern}
            error={at('/pattern') ?? rest}
            required
          />
          <SelectField
            label="Zone"
            value={zone.id}
            options={zones.map(({ id, name }) => [id, name])}
            onChange={setZoneId}
          />
        </LineForm>
      )}
    </Panel>
  )
}

/** Returns a function that removes a row, and says so with a button that brings the row back. */
function useRemoval<T>(
  removal: Work<T>,
  said: (row: T) => { readonly text: string; readonly undo: () => Promise<unknown> },
): (row: T) => void {
  const toast = useToast()
  return (row) => {
    const { text, undo } = said(row)
    removal.run(row).then(
      () => toast(text, { undo }),
      (error: unknown) => toast(String(error), { kind: 'bad' }),
    )
  }
}

/** The button at the end of a row. No column for readers. */
const removeColumn = <T,>(
  mayWrite: boolean,
  nameOf: (row: T) => string,
  take: (row: T) => void,
): readonly Column<T>[] =>
  mayWrite
    ? [
        {
          key: 'menu',
          title: '',
          width: 96,
          card: 'menu',
          cell: (row) => (
            <IconButton icon="trash" label={`Remove ${nameOf(row)}`} size="small" onClick={() => take(row)} />
          ),
        },
      ]
    : []

interface Domain {
  readonly id: string
  readonly hostname: string
  readonly service: string
  readonly zone_name: string
}

function Domains({ script, mayWrite }: Props) {
  const { ofAccount } = usePlace()
  const toast = useToast()
  const path = `${ofAccount}/workers/domains`
  const read = useRead<readonly Domain[]>(path)
  const [hostname, setHostname] = useState('')
  const add = useWork(async () => {
    const { messages } = await sendWhole('PUT', path, { hostname, service: script.id })
    setHostname('')
    if (messages.length > 0) toast(messages.map(({ message }) => message).join(', '))
  }, [path])
  const removal = useWork(async ({ id }: Domain) => await remove(`${path}/${id}`), [path])
  const take = useRemoval<Domain>(removal, ({ hostname: name, service }) => ({
    text: `${name} is removed.`,
    undo: async () => await put(path, { hostname: name, service }),
  }))
  const { at, rest } = placed(add.failure, ['/hostname'])
  const columns: Column<Domain>[] = [
    { key: 'name', title: 'Host name', cell: (one) => one.hostname, card: 'title' },
    { key: 'zone', title: 'Zone', cell: ({ zone_name: zone }) => zone, card: 'fact' },
    ...removeColumn<Domain>(mayWrite, ({ hostname: name }) => name, take),
  ]
  return (
    <Panel title="Domains">
      <Shown read={read} what="the domains" rows={2}>
        {(all) => (
          <OwnTable
            label="Domains"
            rows={all.filter(({ service }) => service === script.id)}
            columns={columns}
            keyOf={({ id }) => id}
            none="No domains. With one, the Worker answers all requests of a host name."
          />
        )}
      </Shown>
      {mayWrite && (
        <LineForm
          verb="Add domain"
          busy={add.busy}
          onSubmit={() => {
            add.start()
          }}
        >
          <TextField
            label="New domain"
            placeholder="api.example.com"
            hint="In a zone of the account. A domain of another Worker moves here."
            value={hostname}
            onChange={setHostname}
            error={at('/hostname') ?? rest}
            required
          />
        </LineForm>
      )}
    </Panel>
  )
}

function Schedules({ script, path, mayWrite }: Props) {
  const toast = useToast()
  const read = useRead<{ readonly schedules: readonly { readonly cron: string }[] }>(`${path}/schedules`)
  const crons = read.value?.schedules.map(({ cron }) => cron) ?? []
  const [added, setAdded] = useState('')
  const save = useWork(
    async (next: readonly string[]) =>
      await put(
        `${path}/schedules`,
        next.map((cron) => ({ cron })),
      ),
    [`${path}/schedules`],
  )
  const run = useWork(
    async (cron: string) => await post<{ success: boolean; message: string }>(`${path}/edged/scheduled`, { cron }),
    [],
  )
  const runNow = async (cron: string): Promise<void> => {
    try {
      const { success, message } = await run.run(cron)
      if (success) toast(`${script.id} has run.`)
      else toast(`${script.id} failed: ${message}`, { kind: 'bad' })
    } catch (error) {
      toast(String(error), { kind: 'bad' })
    }
  }
  return (
    <Panel title="Schedules">
      <Shown read={read} what="the schedules" rows={2}>
        {() =>
          crons.length === 0 ? (
            <p className="soft">No schedules. With one, the Worker runs by itself; it needs a handler scheduled.</p>
          ) : (
            crons.map((cron) => (
              <div key={cron} className={styles['line']}>
                <code>{cron}</code>
                {mayWrite && (
                  <>
                    <Button size="small" busy={run.busy} onClick={() => void runNow(cron)}>
                      Run now
                    </Button>
                    <IconButton
                      icon="trash"
                      size="small"
                      label={`Remove ${cron}`}
                      onClick={() =>
                        void save.run(crons.filter((one) => one !== cron)).then(
                          () => toast(`Schedule ${cron} is removed.`, { undo: async () => await save.run(crons) }),
                          (error: unknown) => toast(String(error), { kind: 'bad' }),
                        )
                      }
                    />
                  </>
                )}
              </div>
            ))
          )
        }
      </Shown>
      {mayWrite && (
        <LineForm
          verb="Add schedule"
          busy={save.busy}
          onSubmit={() => {
            void save.run([...crons, added]).then(
              () => setAdded(''),
              () => undefined,
            )
          }}
        >
          <TextField
            label="New schedule"
            placeholder="*/5 * * * *"
            hint="Minute, hour, day of the month, month, day of the week, in UTC."
            value={added}
            onChange={setAdded}
            error={save.error}
            required
            mono
          />
        </LineForm>
      )}
    </Panel>
  )
}
