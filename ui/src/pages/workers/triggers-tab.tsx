import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { placed, post, put, remove, sendWhole } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace, useZones } from '../../place.tsx'
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
  const toast = useToast()
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
  const { at, rest } = placed(add.failure, ['/pattern'])
  const columns: Column<ZoneRoute>[] = [
    { key: 'pattern', title: 'Pattern', cell: (route) => <code>{route.pattern}</code>, card: 'title' },
    { key: 'zone', title: 'Zone', cell: (route) => route.zone, card: 'fact' },
    {
      key: 'menu',
      title: '',
      width: 96,
      card: 'menu',
      cell: (route) =>
        mayWrite && (
          <IconButton
            icon="trash"
            label={`Remove ${route.pattern}`}
            size="small"
            onClick={() =>
              void removal.run(route).then(
                () =>
                  toast(`Route ${route.pattern} is removed.`, {
                    undo: async () =>
                      await post(`${route.zonePath}/workers/routes`, { pattern: route.pattern, script: script.id }),
                  }),
                (error: unknown) => toast(String(error), { kind: 'bad' }),
              )
            }
          />
        ),
    },
  ]
  return (
    <Panel title="Routes" docs="workers.html">
      {routes.length > 0 ? (
        <DataTable label="Routes" rows={routes} columns={columns} keyOf={({ id }) => id} sortParam="routes" />
      ) : (
        <p className="soft">No routes. A route sends requests of a zone to the Worker.</p>
      )}
      {mayWrite && zone && (
        <form
          className={styles['line']}
          onSubmit={(event) => {
            event.preventDefault()
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
          <Button type="submit" busy={add.busy}>
            Add route
          </Button>
        </form>
      )}
    </Panel>
  )
}

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
  const { at, rest } = placed(add.failure, ['/hostname'])
  const columns: Column<Domain>[] = [
    { key: 'name', title: 'Host name', cell: (one) => one.hostname, card: 'title' },
    { key: 'zone', title: 'Zone', cell: ({ zone_name: zone }) => zone, card: 'fact' },
    {
      key: 'menu',
      title: '',
      width: 96,
      card: 'menu',
      cell: (domain) =>
        mayWrite && (
          <IconButton
            icon="trash"
            label={`Remove ${domain.hostname}`}
            size="small"
            onClick={() =>
              void removal.run(domain).then(
                () =>
                  toast(`${domain.hostname} is removed.`, {
                    undo: async () => await put(path, { hostname: domain.hostname, service: domain.service }),
                  }),
                (error: unknown) => toast(String(error), { kind: 'bad' }),
              )
            }
          />
        ),
    },
  ]
  return (
    <Panel title="Domains">
      <Shown read={read} what="the domains" rows={2}>
        {(all) => {
          const own = all.filter(({ service }) => service === script.id)
          return own.length > 0 ? (
            <DataTable label="Domains" rows={own} columns={columns} keyOf={({ id }) => id} sortParam="domains" />
          ) : (
            <p className="soft">No domains. With one, the Worker answers all requests of a host name.</p>
          )
        }}
      </Shown>
      {mayWrite && (
        <form
          className={styles['line']}
          onSubmit={(event) => {
            event.preventDefault()
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
          <Button type="submit" busy={add.busy}>
            Add domain
          </Button>
        </form>
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
        <form
          className={styles['line']}
          onSubmit={(event) => {
            event.preventDefault()
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
          <Button type="submit" busy={save.busy}>
            Add schedule
          </Button>
        </form>
      )}
    </Panel>
  )
}
