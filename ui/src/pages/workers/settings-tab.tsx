import { useState } from 'react'
import { put, remove, sendWhole } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { TextField } from '../../parts/fields.tsx'
import { Facts, Panel } from '../../parts/panel.tsx'
import { Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { LineForm, OwnTable } from './line-form.tsx'
import { variableText, type Binding, type Script, type Settings } from './worker.ts'
import styles from './workers.module.css'

const SECRETS = ['secret_text', 'secret_key']
const VARIABLES = ['plain_text', 'json']

/** Variables, secrets and bindings of a Worker. */
export function SettingsTab({ script, path, mayWrite }: { script: Script; path: string; mayWrite: boolean }) {
  const read = useRead<Settings>(`${path}/settings`)
  const toast = useToast()
  const save = useWork(
    async (bindings: readonly Binding[]) => {
      const form = new FormData()
      form.append('settings', new Blob([JSON.stringify({ bindings })], { type: 'application/json' }))
      return await sendWhole('PATCH', `${path}/settings`, form)
    },
    [path],
  )
  return (
    <Shown read={read} what="the settings">
      {({ bindings, compatibility_date: date, compatibility_flags: flags }) => {
        const kept = (without: string): Binding[] =>
          bindings.filter(({ name }) => name !== without).map(({ name }) => ({ type: 'inherit', name }))
        const set = async (name: string, text: string): Promise<void> => {
          await save.run([...kept(name), { type: 'plain_text', name, text }])
          toast(`${name} is set. The Worker runs with it now.`)
        }
        const drop = async (binding: Binding): Promise<void> => {
          await save.run(kept(binding.name))
          toast(`${binding.name} is removed.`)
        }
        const of = (types: readonly string[]): Binding[] => bindings.filter(({ type }) => types.includes(type))
        const others = bindings.filter(({ type }) => ![...SECRETS, ...VARIABLES].includes(type))
        return (
          <div className={styles['parts']}>
            <Variables list={of(VARIABLES)} mayWrite={mayWrite} set={set} drop={drop} error={save.error} />
            <Secrets list={of(SECRETS)} path={path} mayWrite={mayWrite} />
            <Panel title="Bindings" docs="workers.html">
              {others.length === 0 ? (
                <p className="soft">No bindings to KV, R2, D1, queues or others. wrangler sets them.</p>
              ) : (
                <DataTable
                  label="Bindings"
                  rows={others}
                  columns={BINDING_COLUMNS}
                  keyOf={({ name }) => name}
                  sortParam="bindings"
                />
              )}
            </Panel>
            <Panel title="Runtime">
              <Facts
                rows={[
                  ['Compatibility date', date ?? '–'],
                  ['Compatibility flags', flags.length > 0 ? flags.join(', ') : 'None'],
                  ['Handlers', script.handlers?.join(', ') || '–'],
                ]}
              />
            </Panel>
          </div>
        )
      }}
    </Shown>
  )
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  kv_namespace: 'KV namespace',
  r2_bucket: 'R2 bucket',
  d1: 'D1 database',
  queue: 'Queue',
  durable_object_namespace: 'Durable Objects',
  service: 'Worker',
  assets: 'Static files',
  analytics_engine: 'Analytics Engine',
  hyperdrive: 'Hyperdrive',
}

const BINDING_COLUMNS: readonly Column<Binding>[] = [
  { key: 'name', title: 'Name', cell: ({ name }) => <code>{name}</code>, card: 'title' },
  { key: 'type', title: 'Type', cell: ({ type }) => TYPE_NAMES[type] ?? type, card: 'fact' },
  { key: 'value', title: 'Value', cell: valueOf, card: 'fact' },
]

function valueOf({ type: _type, name: _name, ...others }: Binding): string {
  const values = Object.values(others).filter((value) => typeof value === 'string')
  return values.join(' · ') || '–'
}

function Variables({
  list,
  mayWrite,
  set,
  drop,
  error,
}: {
  list: readonly Binding[]
  mayWrite: boolean
  set: (name: string, text: string) => Promise<void>
  drop: (binding: Binding) => Promise<void>
  error: string | undefined
}) {
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const submit = async (): Promise<void> => {
    try {
      await set(name, text)
      setName('')
      setText('')
    } catch {
      // The field shows the error.
    }
  }
  const columns: Column<Binding>[] = [
    { key: 'name', title: 'Name', cell: (one) => <code>{one.name}</code>, card: 'title' },
    {
      key: 'value',
      title: 'Value',
      cell: (one) => (one.type === 'json' ? JSON.stringify(one['json']) : variableText(one)),
      card: 'fact',
    },
    {
      key: 'menu',
      title: '',
      width: 130,
      card: 'menu',
      cell: (one) =>
        mayWrite && (
          <span className={styles['cell']}>
            {one.type === 'plain_text' && (
              <Button
                size="small"
                onClick={() => {
                  setName(one.name)
                  setText(variableText(one))
                }}
              >
                Edit
              </Button>
            )}
            <IconButton
              icon="trash"
              size="small"
              label={`Remove ${one.name}`}
              onClick={() => void drop(one).catch(() => undefined)}
            />
          </span>
        ),
    },
  ]
  return (
    <Panel title="Variables">
      <OwnTable label="Variables" rows={list} columns={columns} keyOf={(one) => one.name} none="No variables." />
      {mayWrite && (
        <LineForm
          verb="Set variable"
          onSubmit={() => {
            void submit()
          }}
        >
          <TextField label="Variable" value={name} onChange={setName} error={error} required mono />
          <TextField label="Value" value={text} onChange={setText} />
        </LineForm>
      )}
    </Panel>
  )
}

/** Names of secrets. Values can be written, and never read. */
function Secrets({ list, path, mayWrite }: { list: readonly Binding[]; path: string; mayWrite: boolean }) {
  const toast = useToast()
  const confirm = useConfirm()
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const save = useWork(async () => {
    await put(`${path}/secrets`, { name, text, type: 'secret_text' })
    toast(`Secret ${name} is stored. The Worker runs with it now.`)
    setName('')
    setText('')
  }, [path])
  const removal = useWork(async (one: string) => await remove(`${path}/secrets/${encodeURIComponent(one)}`), [path])
  const drop = async (one: string): Promise<void> => {
    const isSure = await confirm({
      title: `Delete secret ${one}?`,
      text: 'Its value cannot be read, so it cannot be brought back.',
      verb: 'Delete',
    })
    if (!isSure) return
    await removal.run(one).then(
      () => toast(`Secret ${one} is deleted.`),
      (error: unknown) => toast(String(error), { kind: 'bad' }),
    )
  }
  const columns: Column<Binding>[] = [
    { key: 'name', title: 'Name', cell: (one) => <code>{one.name}</code>, card: 'title' },
    { key: 'value', title: 'Value', cell: () => '••••', card: 'fact' },
    {
      key: 'menu',
      title: '',
      width: 130,
      card: 'menu',
      cell: (one) =>
        mayWrite && (
          <span className={styles['cell']}>
            <Button size="small" onClick={() => setName(one.name)}>
              Replace
            </Button>
            <IconButton
              icon="trash"
              size="small"
              label={`Delete secret ${one.name}`}
              onClick={() => void drop(one.name)}
            />
          </span>
        ),
    },
  ]
  return (
    <Panel title="Secrets">
      <OwnTable label="Secrets" rows={list} columns={columns} keyOf={(one) => one.name} none="No secrets." />
      {mayWrite && (
        <LineForm
          verb="Store secret"
          busy={save.busy}
          onSubmit={() => {
            save.start()
          }}
        >
          <TextField label="Secret" value={name} onChange={setName} error={save.error} required mono />
          <TextField label="Secret value" secret value={text} onChange={setText} required />
        </LineForm>
      )}
    </Panel>
  )
}
