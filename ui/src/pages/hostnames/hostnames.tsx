import { useMemo } from 'react'
import { patch, post, remove } from '../../api/client.ts'
import { useList, useWork } from '../../api/queries.ts'
import { useAddress, useGo, useParam } from '../../address.tsx'
import { Switch, TextField } from '../../parts/fields.tsx'
import { number } from '../../parts/format.ts'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { ActionMenu, Panel, State } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { useSettled } from '../../settled.ts'
import { HostnameSheet } from './hostname-sheet.tsx'
import { isMarked, withMark, type Hostname } from './hostname.ts'

const WRITE = 'SSL and Certificates Write'

/** Host names of customers that the zone serves, with Markdown for each. */
export default function Hostnames() {
  const { ofZone, may } = usePlace()
  const [text, setText] = useParam('find')
  const wanted = useSettled(text.trim())
  const filter = wanted === '' ? '' : `?hostname.contain=${encodeURIComponent(wanted)}`
  const path = `${ofZone}/custom_hostnames`
  const read = useList<Hostname>(path + filter)
  const { rest } = useAddress()
  const go = useGo()
  const work = useHostnameWork(path)
  const columns = useMemo(() => columnsFor(may(WRITE), work), [work.mark.busy, work.removal.busy])
  const open = read.value?.find(({ id }) => id === rest[0])
  const total = read.info?.total_count ?? 0
  return (
    <Page actions={may(WRITE) && <NewButton label="Add host name" />}>
      {!may(WRITE) && <Notice>Read only: needs {WRITE}.</Notice>}
      {(work.mark.error ?? work.removal.error) !== undefined && (
        <Notice kind="bad">{work.mark.error ?? work.removal.error}</Notice>
      )}
      <Panel>
        <TextField
          type="search"
          label="Find a host name"
          hideLabel
          placeholder="Find a host name  /"
          value={text}
          onChange={setText}
        />
        <Shown read={read} what="the host names">
          {(names) =>
            names.length === 0 ? (
              <Empty
                title={wanted === '' ? 'No custom host names' : 'No host name contains this'}
                text="A custom host name is a name of a customer that points to this zone, for example shop.customer.com."
                action={may(WRITE) && wanted === '' && <NewButton label="Add host name" isPlain />}
                docs="front.html"
              />
            ) : (
              <>
                {total > names.length && (
                  <p className="soft">
                    The first {number(names.length)} of {number(total)} are shown. Search for the others.
                  </p>
                )}
                <DataTable
                  label="Custom host names"
                  rows={names}
                  columns={columns}
                  keyOf={({ id }) => id}
                  nameOf={({ hostname }) => hostname}
                  onOpen={({ id }) => go({ rest: [id] })}
                />
              </>
            )
          }
        </Shown>
      </Panel>
      {(rest[0] === 'new' || open) && (
        <HostnameSheet key={rest[0]} hostname={open} mayWrite={may(WRITE)} onClose={() => go({})} />
      )}
    </Page>
  )
}

/** The changes of one row. A deleted host name comes back by Undo. */
function useHostnameWork(path: string) {
  const toast = useToast()
  const mark = useWork<readonly [name: Hostname, on: boolean]>(
    async ([name, on]) => {
      await patch(`${path}/${name.id}`, { custom_metadata: withMark(name, on) })
      toast(`Markdown is ${on ? 'on' : 'off'} for ${name.hostname}.`)
    },
    [path],
  )
  const add = useWork<object>(async (body) => await post(path, body), [path])
  const removal = useWork<Hostname>(
    async ({ id, hostname, custom_metadata, custom_origin_server }) => {
      await remove(`${path}/${id}`)
      toast(`${hostname} is deleted.`, {
        undo: async () =>
          await add.run({
            hostname,
            ...(custom_metadata && { custom_metadata }),
            ...(custom_origin_server && { custom_origin_server }),
          }),
      })
    },
    [path],
  )
  return { mark, removal }
}

function columnsFor(
  mayWrite: boolean,
  { mark, removal }: ReturnType<typeof useHostnameWork>,
): readonly Column<Hostname>[] {
  return [
    {
      key: 'name',
      title: 'Host name',
      cell: ({ hostname }) => hostname,
      sort: ({ hostname }) => hostname,
      card: 'title',
    },
    {
      key: 'state',
      title: 'State',
      cell: ({ status }) => (
        <State tone={status === 'active' ? 'ok' : 'warn'}>
          {status === 'active' ? 'Active' : status.replaceAll('_', ' ')}
        </State>
      ),
      card: 'state',
    },
    {
      key: 'origin',
      title: 'Origin',
      cell: ({ custom_origin_server: origin }) => origin ?? 'of the zone',
      card: 'fact',
    },
    {
      key: 'markdown',
      title: 'Markdown',
      cell: (name) => (
        <Switch
          label={`Markdown for ${name.hostname}`}
          on={isMarked(name)}
          disabled={!mayWrite || mark.busy}
          onChange={(on) => mark.start([name, on])}
        />
      ),
      card: 'fact',
    },
    {
      key: 'menu',
      title: '',
      cell: (name) => (
        <ActionMenu
          label={`Actions for ${name.hostname}`}
          actions={[mayWrite && { name: 'Delete', icon: 'trash', danger: true, run: () => removal.start(name) }]}
        />
      ),
      card: 'menu',
    },
  ]
}
