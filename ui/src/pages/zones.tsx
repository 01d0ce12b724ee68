import { useState } from 'preact/hooks'
import { patch, placed, post, remove, sendWhole } from '../api.ts'
import { usePages, useRead, useSettled, useWork } from '../hooks.ts'
import { Badge, Loaded, Panel, Problem, TextField, Time, Toggle } from '../parts.tsx'
import { PagedTable, Table } from '../table.tsx'
import { usePlace } from '../place.ts'
import { SETTING_VALUES } from './setting-values.ts'

interface Setting {
  readonly id: string
  readonly value: unknown
  readonly editable: boolean
  readonly modified_on: string | null
}
interface Hostname {
  readonly id: string
  readonly hostname: string
  readonly status: string
  readonly custom_metadata?: Readonly<Record<string, string>>
  readonly custom_origin_server?: string
}

/** Settings and custom hostnames of a zone, and its cache. */
export function Zones() {
  return (
    <>
      <Settings />
      <Hostnames />
      <Cache />
    </>
  )
}

/** Returns a name whose lines break after underscores only. */
const breakable = (name: string) =>
  name.split(/(?<=_)/).flatMap((part, at) => (at === 0 ? [part] : [<wbr key={at} />, part]))

function Settings() {
  const { ofZone } = usePlace()
  const read = useRead<readonly Setting[]>(`${ofZone}/settings`)
  const [notice, setNotice] = useState<string>()
  return (
    <Panel title="Settings">
      <p aria-live="polite" class="soft">
        {notice}
      </p>
      <Loaded read={read}>
        {(settings) => (
          <Table
            caption="Settings"
            rows={settings}
            empty="No settings."
            keyOf={({ id }) => id}
            textOf={({ id }) => id}
            columns={[
              ['Setting', ({ id }) => <code class="name">{breakable(id)}</code>],
              [
                'Value',
                (setting) => (
                  <Value
                    setting={setting}
                    onStored={(text) => {
                      setNotice(text)
                      read.reload()
                    }}
                  />
                ),
              ],
              ['Changed', ({ modified_on: at }) => <Time at={at} />],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

/** The value of a setting: a switch, a choice, or text that can be changed. What the API rejects stays in the field. */
function Value({ setting: { id, value, editable }, onStored }: { setting: Setting; onStored: (text: string) => void }) {
  const { ofZone } = usePlace()
  const [text, setText] = useState<string>()
  const { busy, error, run } = useWork()
  const set = (next: unknown) =>
    run(async () => {
      const { messages } = await sendWhole('PATCH', `${ofZone}/settings/${id}`, { value: next })
      setText(undefined)
      onStored([`${id} is stored`, ...messages.map(({ message }) => message)].join(': '))
    })
  const values = SETTING_VALUES[id]
  if (values !== undefined)
    return (
      <>
        <select
          aria-label={id}
          value={String(value)}
          disabled={!editable}
          onChange={(event) => set(event.currentTarget.value)}
        >
          {values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <Problem text={error} />
      </>
    )
  if (value === 'on' || value === 'off')
    return (
      <>
        <Toggle label={id} on={value === 'on'} disabled={!editable} onChange={(on) => set(on ? 'on' : 'off')} />
        {!editable && <small class="soft"> not in the plan of the zone</small>}
        <Problem text={error} />
      </>
    )
  const current = typeof value === 'string' ? value : JSON.stringify(value)
  if (text === undefined)
    return (
      <>
        <code>{current}</code>{' '}
        {editable && (
          <button type="button" aria-label={`Change ${id}`} onClick={() => setText(current)}>
            Change
          </button>
        )}
      </>
    )
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        set(typeof value === 'string' ? text : parsed(text))
      }}
    >
      <input
        aria-label={`New value of ${id}`}
        aria-invalid={error === undefined ? undefined : true}
        // The button that opened the field is gone.
        ref={(input) => void (document.activeElement === document.body && input?.focus())}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />{' '}
      <button type="submit" aria-disabled={busy}>
        Store
      </button>{' '}
      <button type="button" onClick={() => setText(undefined)}>
        Cancel
      </button>
      <Problem text={error} />
    </form>
  )
}

/** Returns the JSON value of a text; the text itself if it is not JSON, so that the API reports what it must be. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Makes every custom hostname of the zone convert, or those with the metadata. */
function AllHostnames() {
  const { ofZone } = usePlace()
  const path = `${ofZone}/settings/edged_custom_hostnames`
  const read = useRead<Setting>(path)
  const { error, run } = useWork()
  return (
    <Loaded read={read}>
      {({ value, editable }) => (
        <p>
          <Toggle
            label="Markdown for all custom hostnames"
            on={value === 'all'}
            disabled={!editable}
            onChange={(on) =>
              run(async () => {
                await patch(path, { value: on ? 'all' : 'selected' })
                read.reload()
              })
            }
          />{' '}
          Markdown for all custom hostnames; off: rules decide, for example by the mark below.
          <Problem text={error} />
        </p>
      )}
    </Loaded>
  )
}

function Hostnames() {
  const { ofZone } = usePlace()
  const [search, setSearch] = useState('')
  const wanted = useSettled(search.trim())
  const filter = wanted === '' ? '' : `?hostname.contain=${encodeURIComponent(wanted)}`
  const read = usePages<Hostname>(`${ofZone}/custom_hostnames${filter}`)
  const { busy, error, run } = useWork()
  const adding = useWork()
  const { at, rest } = placed(adding.failure, ['/hostname'])
  const [name, setName] = useState('')
  return (
    <Panel title="Custom hostnames">
      <AllHostnames />
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          adding.run(async () => {
            await post(`${ofZone}/custom_hostnames`, { hostname: name })
            setName('')
            read.reload()
          })
        }}
      >
        <TextField label="Host name of a customer" value={name} onInput={setName} error={at('/hostname')} required />
        <button type="submit" aria-disabled={adding.busy}>
          Add
        </button>
      </form>
      <Problem text={rest ?? error} />
      <TextField label="Show host names that contain" value={search} onInput={setSearch} />
      <PagedTable
        caption="Custom hostnames"
        read={read}
        empty={wanted === '' ? 'No custom hostnames.' : 'Nothing matches the search.'}
        keyOf={({ id }) => id}
        columns={[
          ['Host name', ({ hostname }) => hostname],
          ['Status', ({ status }) => <Badge good={status === 'active'}>{status}</Badge>],
          ['Origin', ({ custom_origin_server: origin }) => origin ?? 'of the zone'],
          [
            'Markdown',
            ({ id, hostname, custom_metadata: metadata = {} }) => (
              <Toggle
                label={`Mark ${hostname} with content_converter: enabled`}
                on={metadata['content_converter'] === 'enabled'}
                onChange={(on) =>
                  run(async () => {
                    const { content_converter: _, ...others } = metadata
                    const next = on ? { ...others, content_converter: 'enabled' } : others
                    await patch(`${ofZone}/custom_hostnames/${id}`, { custom_metadata: next })
                    read.reload()
                  })
                }
              />
            ),
          ],
          [
            '',
            ({ id, hostname }) => (
              <button
                type="button"
                aria-label={`Delete ${hostname}`}
                aria-disabled={busy}
                onClick={() =>
                  confirm(`Delete ${hostname}?`) &&
                  run(async () => {
                    await remove(`${ofZone}/custom_hostnames/${id}`)
                    read.reload()
                  })
                }
              >
                Delete
              </button>
            ),
          ],
        ]}
      />
    </Panel>
  )
}

function Cache() {
  const { ofZone } = usePlace()
  const { busy, error, run } = useWork()
  const [done, setDone] = useState(false)
  return (
    <Panel title="Cache">
      <button
        type="button"
        aria-disabled={busy}
        onClick={() =>
          run(async () => {
            await post(`${ofZone}/purge_cache`, { purge_everything: true })
            setDone(true)
          })
        }
      >
        Remove all cached responses
      </button>
      <p aria-live="polite">{done && 'All cached responses of the zone are removed.'}</p>
      <Problem text={error} />
    </Panel>
  )
}
