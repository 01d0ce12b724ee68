import { post } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { TextArea } from '../../parts/fields.tsx'
import { count } from '../../parts/format.ts'
import { useToast } from '../../parts/toast.tsx'
import { itemsOf, KINDS, type List } from './list.ts'

/** Adds one item or many pasted ones. */
export function AddItems({
  list: { kind, name },
  path,
  text,
  setText,
}: {
  list: List
  path: string
  text: string
  setText: (text: string) => void
}) {
  const toast = useToast()
  const items = itemsOf(kind, text)
  const work = useWork(async () => {
    await post(`${path}/items`, items)
    toast(`${count(items.length, 'item')} added to $${name}.`)
    setText('')
  })
  const hint = KINDS.find(([one]) => one === kind)![2]
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        work.start()
      }}
    >
      <TextArea
        label="Add items"
        hint={`One per line: ${hint}. A comment follows " #".`}
        value={text}
        error={work.error && shownError(work.error, text)}
        onChange={setText}
      />
      <div>
        <Button type="submit" kind="primary" busy={work.busy} disabled={items.length === 0}>
          {items.length === 0 ? 'Add' : `Add ${count(items.length, 'item')}`}
        </Button>
      </div>
    </form>
  )
}

/** Names the lines of errors, which the API counts from 0. */
const shownError = (error: string, text: string): string => {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return error.replaceAll(/(?:^|(?<=; ))\/(\d+)[^:;]*: /g, (_, at: string) => `${lines[Number(at)] ?? ''}: `)
}
