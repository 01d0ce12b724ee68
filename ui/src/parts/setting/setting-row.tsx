import { useState } from 'react'
import { useGo } from '../../address.tsx'
import { useWork } from '../../api/queries.ts'
import { Button } from '../button.tsx'
import { SelectField, Switch, TextField } from '../fields.tsx'
import { Badge } from '../panel.tsx'
import { useToast } from '../toast.tsx'
import { usePlace } from '../../place.tsx'
import { nameOfValue, putBack, shownValue, store, type Setting } from './setting.ts'
import styles from './setting.module.css'

const NO_EFFECT = /without effect/

/** One setting: its name, what it does, its default, and its value. A change is stored at once and can be taken back. */
export function SettingRow({ setting, mayWrite }: { setting: Setting; mayWrite: boolean }) {
  const { ofZone } = usePlace()
  const toast = useToast()
  const work = useWork<unknown>(
    async (value) => {
      const notices = await store(ofZone, setting.id, value)
      const isInert = !setting.acts || notices.some((one) => NO_EFFECT.test(one))
      const what = value === 'on' || value === 'off' ? `is ${value}` : 'is saved'
      toast(isInert ? `${setting.title} is saved, but edged does not act on it.` : `${setting.title} ${what}.`, {
        undo: async () => await putBack(ofZone, setting),
      })
    },
    [ofZone],
  )
  const isDefault = JSON.stringify(setting.value) === JSON.stringify(setting.default)
  return (
    <div className={styles['row']}>
      <div className={styles['text']}>
        <h3>{setting.title}</h3>
        <p className="soft">{setting.description}</p>
        {work.error !== undefined && (
          <p className="bad" role="alert">
            {work.error}
          </p>
        )}
      </div>
      <p className={styles['default']}>
        {setting.source === 'file' ? 'In the configuration file: ' : 'Default: '}
        {shownValue(setting, setting.default)} {!isDefault && <Badge tone="info">changed</Badge>}
      </p>
      <div className={styles['control']}>
        <Control setting={setting} isLocked={!mayWrite || !setting.editable || work.busy} onChange={work.start} />
        {!setting.editable && <p className="soft">Not in the plan of the zone</p>}
      </div>
    </div>
  )
}

function Control({
  setting,
  isLocked,
  onChange,
}: {
  setting: Setting
  isLocked: boolean
  onChange: (value: unknown) => void
}) {
  const { id, title, type, value, values } = setting
  if (type === 'switch')
    return (
      <Switch label={title} on={value === 'on'} disabled={isLocked} onChange={(on) => onChange(on ? 'on' : 'off')} />
    )
  if (type === 'choice')
    return (
      <SelectField
        label={title}
        hideLabel
        disabled={isLocked}
        value={String(value)}
        options={(values ?? []).map((one) => [one, nameOfValue(id, one)] as const)}
        onChange={onChange}
      />
    )
  if (type === 'number')
    return (
      <NumberControl key={String(value)} title={title} value={Number(value)} isLocked={isLocked} onChange={onChange} />
    )
  return <ObjectControl setting={setting} isLocked={isLocked} />
}

function NumberControl({
  title,
  value,
  isLocked,
  onChange,
}: {
  title: string
  value: number
  isLocked: boolean
  onChange: (value: unknown) => void
}) {
  const [text, setText] = useState(String(value))
  return (
    <form
      className={styles['number']}
      onSubmit={(event) => {
        event.preventDefault()
        onChange(Number(text))
      }}
    >
      <TextField label={title} hideLabel type="number" value={text} onChange={setText} disabled={isLocked} />
      {text !== String(value) && (
        <Button type="submit" size="small">
          Save
        </Button>
      )}
    </form>
  )
}

function ObjectControl({ setting, isLocked }: { setting: Setting; isLocked: boolean }) {
  const go = useGo()
  return (
    <div className={styles['object']}>
      <span className="cut">{shownValue(setting, setting.value)}</span>
      <Button size="small" onClick={() => go({ page: 'settings', rest: [setting.topic, setting.id] })}>
        {isLocked ? 'View' : 'Edit'}
        <span className="visually-hidden"> {setting.title}</span>
      </Button>
    </div>
  )
}
