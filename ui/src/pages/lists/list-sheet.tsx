import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { messageOf, put, remove, sendWhole } from '../../api/client.ts'
import { useWork } from '../../api/queries.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { TextField } from '../../parts/fields.tsx'
import { useSettled } from '../../settled.ts'
import { count, number } from '../../parts/format.ts'
import { CopyButton, Facts, FromFile } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Loading, Notice } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { useToast } from '../../parts/toast.tsx'
import { usePlace } from '../../place.tsx'
import { AddItems } from './add-items.tsx'
import { itemText, kindName, listYaml, plainItem, WRITE, type Item, type List } from './list.ts'
import { Users } from './users.tsx'
import styles from './lists.module.css'

const SEARCH_MS = 300

/** One list: its items, a search, new ones, and what uses it. */
export function ListSheet({ list, onClose }: { list: List; onClose: () => void }) {
  const { ofAccount, may } = usePlace()
  const path = `${ofAccount}/rules/lists/${list.id}`
  const source = list.edged_source
  const canChange = may(WRITE) && !source
  const [search, setSearch] = useState('')
  const [text, setText] = useState('')
  return (
    <Sheet
      title={`$${list.name}`}
      wide
      onClose={onClose}
      isDirty={text !== ''}
      actions={
        !source && (
          <>
            <CopyButton
              label="Copy as YAML"
              text={async () => listYaml(list, (await readItems(path, '', Infinity)).items)}
            />
            {canChange && <Delete list={list} path={path} onClose={onClose} />}
          </>
        )
      }
    >
      <SheetBody>
        {source && (
          <Notice action={<FromFile source={source} />}>The configuration file has this list. Change it there.</Notice>
        )}
        <Facts
          rows={[
            ['Items', `${number(list.num_items)} ${kindName(list.kind)}`],
            ['Used by', <Users key="users" path={path} total={list.num_referencing_filters} />],
          ]}
        />
        <Description key={list.description} list={list} path={path} canChange={canChange} />
        {canChange && <AddItems list={list} path={path} text={text} setText={setText} />}
        <div className={styles['bar']}>
          <TextField
            type="search"
            label="Find an item"
            hideLabel
            placeholder="Find an item"
            value={search}
            onChange={setSearch}
          />
        </div>
        <Items list={list} path={path} search={search} canChange={canChange} />
      </SheetBody>
    </Sheet>
  )
}

function Description({ list, path, canChange }: { list: List; path: string; canChange: boolean }) {
  const toast = useToast()
  const [text, setText] = useState(list.description)
  const work = useWork(async () => {
    await put(path, { description: text })
    toast(`The description of $${list.name} is saved.`)
  })
  if (!canChange) return list.description === '' ? null : <p>{list.description}</p>
  return (
    <form
      className={styles['line']}
      onSubmit={(event) => {
        event.preventDefault()
        work.start()
      }}
    >
      <TextField label="Description" value={text} onChange={setText} error={work.error} />
      {text !== list.description && (
        <Button type="submit" busy={work.busy}>
          Save
        </Button>
      )}
    </form>
  )
}

function Delete({ list, path, onClose }: { list: List; path: string; onClose: () => void }) {
  const confirm = useConfirm()
  const toast = useToast()
  const work = useWork(async () => {
    await remove(path)
    toast(`$${list.name} is deleted.`)
    onClose()
  })
  const start = async (): Promise<void> => {
    const isSure = await confirm({
      title: `Delete $${list.name}?`,
      text: `${count(list.num_items, 'item')} ${list.num_items === 1 ? 'is' : 'are'} deleted with it.`,
      verb: 'Delete list',
    })
    if (isSure) await work.run().catch((error: unknown) => toast(messageOf(error), { kind: 'bad' }))
  }
  return (
    <Button
      size="small"
      icon="trash"
      disabled={list.num_referencing_filters > 0}
      title={list.num_referencing_filters > 0 ? 'Rules use this list' : undefined}
      onClick={() => void start()}
    >
      Delete
    </Button>
  )
}

interface Page {
  readonly items: readonly Item[]
  readonly after: string | undefined
}

/** Reads the items up to a number of pages. */
async function readItems(path: string, search: string, pages: number): Promise<Page> {
  const items: Item[] = []
  let after: string | undefined
  for (let page = 0; page < pages; page += 1) {
    const query = new URLSearchParams({
      ...(search !== '' && { search }),
      ...(after !== undefined && { cursor: after }),
    })
    const { result, result_info: info } = await sendWhole<readonly Item[]>('GET', `${path}/items?${query.toString()}`)
    items.push(...result)
    after = (info as { cursors?: { after?: string } } | undefined)?.cursors?.after
    if (after === undefined) break
  }
  return { items, after }
}

function Items({ list, path, search, canChange }: { list: List; path: string; search: string; canChange: boolean }) {
  const client = useQueryClient()
  const toast = useToast()
  const wanted = useSettled(search.trim(), SEARCH_MS)
  const [pages, setPages] = useState(1)
  const { data, error } = useQuery({
    queryKey: [`${path}/items`, wanted, pages, list.num_items],
    queryFn: async () => await readItems(path, wanted, pages),
    placeholderData: (last: Page | undefined) => last,
  })
  const reread = async (): Promise<void> => await client.invalidateQueries()
  const take = async (item: Item): Promise<void> => {
    try {
      await sendWhole('DELETE', `${path}/items`, { items: [{ id: item.id }] })
      toast(`${itemText(item)} is removed from $${list.name}.`, {
        undo: async () => {
          await sendWhole('POST', `${path}/items`, [plainItem(item)])
          await reread()
        },
      })
    } catch (failure) {
      toast(messageOf(failure), { kind: 'bad' })
    }
    await reread()
  }
  if (error) return <Notice kind="warn">{messageOf(error)}</Notice>
  if (!data) return <Loading rows={5} />
  if (data.items.length === 0) return <p className="soft">{wanted === '' ? 'No items yet.' : 'No item fits.'}</p>
  return (
    <>
      <DataTable
        label={`Items of ${list.name}`}
        rows={data.items}
        sortParam="items"
        keyOf={({ id }) => id}
        columns={columnsOf(canChange ? take : undefined)}
      />
      {data.after !== undefined && (
        <Button onClick={() => setPages(pages + 1)}>Show more of {number(list.num_items)}</Button>
      )}
    </>
  )
}

const columnsOf = (take: ((item: Item) => Promise<void>) | undefined): readonly Column<Item>[] => [
  { key: 'item', title: 'Item', card: 'title', sort: itemText, cell: (item) => <code>{itemText(item)}</code> },
  {
    key: 'comment',
    title: 'Comment',
    card: 'fact',
    sort: ({ comment = '' }) => comment,
    cell: ({ comment }) => comment,
  },
  ...(take
    ? [
        {
          key: 'menu',
          title: '',
          width: 48,
          card: 'menu' as const,
          cell: (item: Item) => (
            <IconButton icon="x" size="small" label={`Remove ${itemText(item)}`} onClick={() => void take(item)} />
          ),
        },
      ]
    : []),
]
