import { useState } from 'react'
import { placed } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { CheckField, TextArea, TextField } from '../../parts/fields.tsx'
import { Code } from '../../parts/panel.tsx'
import { Sheet, SheetBody, SheetForm } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { putBack, store, words, type Setting } from '../../parts/setting/setting.ts'

type Members = Readonly<Record<string, unknown>>

/** The sheet of a setting whose value is an object or a list: a field for each member. */
export function ObjectSheet({
  setting,
  mayWrite,
  onClose,
}: {
  setting: Setting
  mayWrite: boolean
  onClose: () => void
}) {
  const { ofZone } = usePlace()
  const toast = useToast()
  const [value, setValue] = useState<unknown>(setting.value)
  const isDirty = JSON.stringify(value) !== JSON.stringify(setting.value)
  const work = useWork(async () => {
    await store(ofZone, setting.id, value)
    toast(`${setting.title} is saved.`, {
      undo: async () => await putBack(ofZone, setting),
    })
    onClose()
  }, [ofZone])
  const errors = placed(work.failure, [], '/value')
  return (
    <Sheet title={setting.title} onClose={onClose} isDirty={isDirty}>
      {mayWrite ? (
        <SheetForm
          verb="Save"
          busy={work.busy}
          failure={work.failure}
          rest={errors.rest}
          onSubmit={() => work.start()}
          onCancel={onClose}
        >
          <p className="soft">{setting.description}</p>
          {Array.isArray(value) ? (
            <TextArea
              label="Values"
              hint="One a line."
              rows={8}
              value={value.join('\n')}
              onChange={(text) => setValue(text.split('\n').filter((line) => line.trim() !== ''))}
            />
          ) : (
            <MemberFields value={value as Members} onChange={setValue} />
          )}
        </SheetForm>
      ) : (
        <SheetBody>
          <p className="soft">{setting.description}</p>
          <Code label={setting.title} text={JSON.stringify(setting.value, null, 2)} />
        </SheetBody>
      )}
    </Sheet>
  )
}

function MemberFields({ value, onChange }: { value: Members; onChange: (value: Members) => void }) {
  return Object.entries(value).map(([name, one]) => {
    const set = (next: unknown): void => onChange({ ...value, [name]: next })
    if (typeof one === 'boolean') return <CheckField key={name} label={words(name)} on={one} onChange={set} />
    if (typeof one === 'number')
      return (
        <TextField
          key={name}
          label={labelOf(name)}
          type="number"
          value={String(one)}
          onChange={(text) => set(Number(text))}
        />
      )
    if (typeof one === 'object' && one !== null)
      return <MemberFields key={name} value={one as Members} onChange={set} />
    return (
      <TextField
        key={name}
        label={words(name)}
        value={typeof one === 'string' ? one : JSON.stringify(one)}
        onChange={set}
      />
    )
  })
}

const labelOf = (name: string): string => (name === 'max_age' ? 'Max age, in seconds' : words(name))
