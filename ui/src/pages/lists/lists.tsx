import { useAddress, useGo, useParam } from '../../address.tsx'
import { useList } from '../../api/queries.ts'
import { TextField } from '../../parts/fields.tsx'
import { count, number } from '../../parts/format.ts'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { Badge, FromFile, Panel } from '../../parts/panel.tsx'
import { Empty, Notice, Shown } from '../../parts/states.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import { usePlace } from '../../place.tsx'
import { kindName, WRITE, type List } from './list.ts'
import { ListSheet } from './list-sheet.tsx'
import { NewList } from './new-list.tsx'
import styles from './lists.module.css'

const COLUMNS: readonly Column<List>[] = [
  { key: 'name', title: 'Name', card: 'title', sort: ({ name }) => name, cell: ({ name }) => <code>${name}</code> },
  {
    key: 'kind',
    title: 'Items are',
    width: 150,
    card: 'state',
    sort: ({ kind }) => kind,
    cell: ({ kind }) => <Badge>{kindName(kind)}</Badge>,
  },
  {
    key: 'items',
    title: 'Items',
    width: 110,
    numeric: true,
    card: 'fact',
    sort: (list) => list.num_items,
    cell: (list) => number(list.num_items),
  },
  {
    key: 'used',
    title: 'Used by',
    width: 140,
    card: 'fact',
    sort: (list) => list.num_referencing_filters,
    cell: (list) =>
      list.num_referencing_filters === 0 ? (
        <span className="soft">No rule</span>
      ) : (
        count(list.num_referencing_filters, 'rule')
      ),
  },
  { key: 'description', title: 'Description', cell: ({ description }) => description },
  {
    key: 'source',
    title: 'Source',
    width: 130,
    card: 'fact',
    cell: ({ edged_source: source }) => (source ? <FromFile source={source} /> : 'API'),
  },
]

/** Lists of addresses, numbers, host names and redirects that rules name. */
export default function Lists() {
  const { ofAccount, may } = usePlace()
  const read = useList<List>(`${ofAccount}/rules/lists`)
  const { rest } = useAddress()
  const go = useGo()
  const [find, setFind] = useParam('find')
  const [open] = rest
  const mayWrite = may(WRITE)
  const add = <NewButton label="New list" />
  const close = (): void => go({ rest: [] })
  return (
    <Page actions={mayWrite && add}>
      {!mayWrite && <Notice>Read only: needs {WRITE}.</Notice>}
      <Panel>
        <Shown read={read} what="the lists">
          {(lists) =>
            lists.length === 0 ? (
              <Empty
                title="No lists yet"
                text="Rules name a list as $name, so that one change of the list changes all of them."
                action={mayWrite && add}
                docs="rules.html"
              />
            ) : (
              <>
                <div className={styles['bar']}>
                  <TextField
                    type="search"
                    label="Find a list"
                    hideLabel
                    placeholder="Find a list  /"
                    value={find}
                    onChange={setFind}
                  />
                </div>
                <DataTable
                  label="Lists"
                  rows={lists.filter(({ name, description }) =>
                    `${name} ${description}`.toLowerCase().includes(find.toLowerCase()),
                  )}
                  columns={COLUMNS}
                  keyOf={({ id }) => id}
                  nameOf={({ name }) => `Open ${name}`}
                  onOpen={({ id }) => go({ rest: [id] })}
                />
              </>
            )
          }
        </Shown>
      </Panel>
      {open === 'new' && mayWrite && <NewList onClose={close} />}
      {open !== undefined && open !== 'new' && (
        <Opened
          list={read.value?.find(({ id, name }) => id === open || name === open)}
          isRead={read.value !== undefined}
          onClose={close}
        />
      )}
    </Page>
  )
}

const Opened = ({ list, isRead, onClose }: { list: List | undefined; isRead: boolean; onClose: () => void }) =>
  list ? (
    <ListSheet list={list} onClose={onClose} />
  ) : isRead ? (
    <Notice kind="warn">No list with this id.</Notice>
  ) : null
