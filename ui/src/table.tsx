import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { PER_PAGE, type Paged } from './hooks.ts'
import { TextField, Unread } from './parts.tsx'

/** A column: its title, and what it shows of a row. */
export type Column<T> = readonly [title: string, cell: (row: T) => ComponentChildren]

interface TableProps<T> {
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly empty: string
  /** What identifies a row, so that what its cells hold stays with it. */
  readonly keyOf?: (row: T) => string | number
  /** The text in which the reader can search. */
  readonly textOf?: (row: T) => string
}

/** A table of all rows, of which it shows a page. Long ones can be searched. */
export function Table<T>({ rows, textOf, ...table }: TableProps<T>) {
  const [search, setSearch] = useState('')
  const [chosen, setPage] = useState(1)
  const wanted = search.trim().toLowerCase()
  const found = textOf && wanted !== '' ? rows.filter((row) => textOf(row).toLowerCase().includes(wanted)) : rows
  const page = Math.min(chosen, Math.max(1, Math.ceil(found.length / PER_PAGE)))
  return (
    <>
      {textOf && (rows.length > 10 || search !== '') && (
        <TextField
          label={`Search in: ${table.caption}`}
          value={search}
          onInput={(text) => {
            setSearch(text)
            setPage(1)
          }}
        />
      )}
      <Rows
        {...table}
        rows={found.slice((page - 1) * PER_PAGE, page * PER_PAGE)}
        empty={wanted === '' ? table.empty : 'Nothing matches the search.'}
      />
      <Pager caption={table.caption} page={page} total={found.length} onPage={setPage} />
    </>
  )
}

/** A table of a list that the API returns in pages. */
export function PagedTable<T>({ read, ...table }: Omit<TableProps<T>, 'rows' | 'textOf'> & { read: Paged<T> }) {
  return (
    <>
      <Unread read={read} />
      {read.value === undefined ? (
        read.error === undefined && <p class="soft">Loading…</p>
      ) : (
        <>
          <Rows {...table} rows={read.value} />
          <Pager
            caption={table.caption}
            page={read.page}
            total={read.info?.total_count ?? read.value.length}
            onPage={read.setPage}
          />
        </>
      )}
    </>
  )
}

/** Scrolls sideways, with the keyboard too. */
function Rows<T>({ caption, columns, rows, empty, keyOf }: Omit<TableProps<T>, 'textOf'>) {
  if (rows.length === 0) return <p class="soft">{empty}</p>
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(([title]) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf ? keyOf(row) : at}>
              {columns.map(([title, cell]) => (
                <td key={title}>{cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Buttons to the other pages of a list. They stay at their place at the ends, so that the keyboard does not lose it. */
export function Pager({
  caption,
  page,
  total,
  onPage,
}: {
  caption: string
  page: number
  total: number
  onPage: (page: number) => void
}) {
  const id = useId()
  if (total <= PER_PAGE) return null
  const last = Math.ceil(total / PER_PAGE)
  const range = `${((page - 1) * PER_PAGE + 1).toLocaleString()} to ${Math.min(page * PER_PAGE, total).toLocaleString()}`
  const button = (name: string, to: number) => (
    <button
      type="button"
      aria-disabled={to < 1 || to > last || to === page}
      aria-describedby={id}
      onClick={() => to >= 1 && to <= last && onPage(to)}
    >
      {name}
    </button>
  )
  return (
    <nav class="pager" aria-label={`Pages of: ${caption}`}>
      {button('First', 1)}
      {button('Previous', page - 1)}
      {button('Next', page + 1)}
      {button('Last', last)}
      <span id={id} class="soft" aria-live="polite">{`${range} of ${total.toLocaleString()}`}</span>
    </nav>
  )
}
