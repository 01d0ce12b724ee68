import { useState } from 'react'
import { useGo } from '../../address.tsx'
import { placed, post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { SelectField, TextArea, TextField } from '../../parts/fields.tsx'
import { Sheet, SheetForm } from '../../parts/sheet.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { itemsOf, KINDS, type List, type ListKind } from './list.ts'

/** A new list, with its first items. */
export function NewList({ onClose }: { onClose: () => void }) {
  const { ofAccount } = usePlace()
  const toast = useToast()
  const go = useGo()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<ListKind>('ip')
  const [description, setDescription] = useState('')
  const [items, setItems] = useState('')
  const work = useWork(async () => {
    const list = await post<List>(`${ofAccount}/rules/lists`, { name, kind, description })
    const given = itemsOf(kind, items)
    go({ rest: [list.id] })
    if (given.length > 0) await post(`${ofAccount}/rules/lists/${list.id}/items`, given)
    toast(`$${name} is created.`)
  }, [ofAccount])
  const errors = placed(work.failure, ['/name', '/kind', '/description'])
  const hint = KINDS.find(([one]) => one === kind)![2]
  return (
    <Sheet title="New list" onClose={onClose} isDirty={name !== '' || items !== ''}>
      <SheetForm
        verb="Create"
        busy={work.busy}
        failure={work.failure}
        rest={errors.rest}
        onCancel={onClose}
        onSubmit={() => work.start()}
      >
        <TextField
          label="Name"
          value={name}
          required
          hint="Lower-case letters, digits and _. Rules write $name."
          error={errors.at('/name')}
          onChange={setName}
        />
        <SelectField
          label="Items are"
          value={kind}
          options={KINDS.map(([value, title]) => [value, title])}
          error={errors.at('/kind')}
          onChange={(next) => setKind(next as ListKind)}
        />
        <TextField
          label="Description"
          value={description}
          error={errors.at('/description')}
          onChange={setDescription}
        />
        <TextArea
          label="Items"
          rows={6}
          hint={`One per line: ${hint}. A comment follows " #".`}
          value={items}
          onChange={setItems}
        />
      </SheetForm>
    </Sheet>
  )
}
