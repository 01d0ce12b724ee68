import { useState } from 'preact/hooks'
import { patch, post, remove, sendWhole } from '../api.ts'
import { useRead, useWork } from '../hooks.ts'
import { Badge, Loaded, Panel, Problem, Table, TextField, Time, Toggle } from '../parts.tsx'
import { usePlace } from '../place.ts'

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

function Settings() {
  const { ofZone } = usePlace()
  const read = useRead<readonly Setting[]>(`${ofZone}/settings`)
  const { busy, error, run } = useWork()
  const [notice, setNotice] = useState<string>()
  const set = (id: string, value: unknown) =>
    run(async () => {
      const { messages } = await sendWhole('PATCH', `${ofZone}/settings/${id}`, { value })
      setNotice([`${id} is stored`, ...messages.map(({ message }) => message)].join(': '))
      read.reload()
    })
  return (
    <Panel title="Settings">
      <Problem text={error} />
      <p aria-live="polite" class="soft">
        {notice}
      </p>
      <Loaded read={read}>
        {(settings) => (
          <Table
            caption="Settings"
            rows={settings}
            empty="No settings."
            columns={[
              ['Setting', ({ id }) => <code>{id}</code>],
              ['Value', (setting) => <Value setting={setting} disabled={busy} onSet={set} />],
              ['Changed', ({ modified_on: at }) => <Time at={at} />],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  )
}

function Value({
  setting: { id, value, editable },
  disabled,
  onSet,
}: {
  setting: Setting
  disabled: boolean
  onSet: (id: string, value: unknown) => void
}) {
  const [text, setText] = useState<string>()
  if (value === 'on' || value === 'off')
    return (
      <Toggle
        label={id}
        on={value === 'on'}
        disabled={disabled || !editable}
        onChange={(on) => onSet(id, on ? 'on' : 'off')}
      />
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
        onSet(id, typeof value === 'string' ? text : parsed(text))
        setText(undefined)
      }}
    >
      <input aria-label={`New value of ${id}`} value={text} onInput={(event) => setText(event.currentTarget.value)} />{' '}
      <button type="submit">Store</button>{' '}
      <button type="button" onClick={() => setText(undefined)}>
        Cancel
      </button>
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

function Hostnames() {
  const { ofZone } = usePlace()
  const read = useRead<readonly Hostname[]>(`${ofZone}/custom_hostnames?per_page=50`)
  const { busy, error, run } = useWork()
  const [name, setName] = useState('')
  return (
    <Panel title="Custom hostnames">
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault()
          run(async () => {
            await post(`${ofZone}/custom_hostnames`, { hostname: name })
            setName('')
            read.reload()
          })
        }}
      >
        <TextField label="Host name of a customer" value={name} onInput={setName} required />
        <button type="submit" disabled={busy}>
          Add
        </button>
      </form>
      <Problem text={error} />
      <Loaded read={read}>
        {(hostnames) => (
          <Table
            caption="Custom hostnames"
            rows={hostnames}
            empty="No custom hostnames."
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
                    disabled={busy}
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
                    disabled={busy}
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
        )}
      </Loaded>
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
        disabled={busy}
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
