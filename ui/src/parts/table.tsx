import {
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_basic,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, type ComponentProps, type ReactNode } from 'react'
import { useParam } from '../address.tsx'
import { CheckField } from './fields.tsx'
import { Icon } from './icon.tsx'
import { onRowKey } from './row-keys.ts'
import styles from './table.module.css'

/** A column of a table. */
export interface Column<T> {
  readonly key: string
  readonly title: string
  /** In the head in place of the title. */
  readonly head?: ReactNode
  readonly cell: (row: T) => ReactNode
  /** The value that the column sorts by. Columns without it do not sort. */
  readonly sort?: (row: T) => string | number
  /** Numbers stand right. */
  readonly numeric?: boolean
  /** Width in pixels. Columns without one share the rest. */
  readonly width?: number
  /** Takes the rest of the width, and no more: longer texts are cut. One column of a table. */
  readonly fill?: boolean
  /**
   * Place in the card that a row becomes on a phone: its `title`, its `state` beside the title, a `fact` below, its `menu`.
   * Columns without it are left out there.
   */
  readonly card?: 'title' | 'state' | 'fact' | 'menu'
  /** Has the button that opens the row. Without one it is the first column. */
  readonly opens?: boolean
  /** Hidden until the reader chooses the column. */
  readonly optional?: boolean
}

/** Rows that the reader selects by a check box, or by `x`. */
interface Selection<T> {
  /** Keys of the selected rows. */
  readonly chosen: ReadonlySet<string>
  readonly choose: (keys: ReadonlySet<string>) => void
  readonly nameOf: (row: T) => string
}

const FEATURES = tableFeatures({
  rowSortingFeature,
  columnVisibilityFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { basic: sortFn_basic },
})
/** Longer tables draw the rows on the screen alone. */
const VIRTUAL_ROWS = 200
const ROW_PIXELS = 36
const NOTHING: readonly string[] = []

/**
 * A table of rows. The order is in the address as `sort=KEY` or `sort=-KEY`. Arrow keys and `j`, `k` move between rows, Enter
 * opens one, `x` selects one and `e` edits one. `hidden`: keys of columns that are not shown.
 */
export function DataTable<T>({
  label,
  rows,
  columns: given,
  keyOf,
  onOpen,
  onEdit,
  selection,
  nameOf,
  isOff,
  hidden = NOTHING,
  rowProps,
  sortParam = 'sort',
}: {
  label: string
  rows: readonly T[]
  columns: readonly Column<T>[]
  keyOf: (row: T) => string
  /** Opens the details of a row. */
  onOpen?: (row: T) => void
  /** Opens the form of a row. */
  onEdit?: ((row: T) => void) | undefined
  /** Draws a column of check boxes. */
  selection?: Selection<T> | undefined
  /** Name of a row for the button that opens it. Without it the first column has none. */
  nameOf?: (row: T) => string
  /** Dims a row. */
  isOff?: (row: T) => boolean
  hidden?: readonly string[]
  /** Further attributes of a row, as handlers for dragging. */
  rowProps?: (row: T) => ComponentProps<'tr'>
  /** Name of the parameter of the address, for pages with several tables. */
  sortParam?: string
}) {
  const [sorted, setSorted] = useParam(sortParam)
  const data = useMemo(() => [...rows], [rows])
  const columns = selection ? [choiceOf(selection, rows, keyOf), ...given] : given
  const definitions = useMemo(
    () =>
      columns.map(({ key, title, sort }) => ({
        id: key,
        header: title,
        accessorFn: (row: T) => sort?.(row),
        enableSorting: sort !== undefined,
        sortFn: 'basic' as const,
      })),
    [columns],
  )
  const sorting = useMemo(
    () => (sorted === '' ? [] : [{ id: sorted.replace(/^-/, ''), desc: sorted.startsWith('-') }]),
    [sorted],
  )
  const columnVisibility = useMemo(() => Object.fromEntries(hidden.map((key) => [key, false])), [hidden])
  const table = useTable({
    features: FEATURES,
    columns: definitions,
    data,
    getRowId: keyOf,
    state: { sorting, columnVisibility },
  } as never) as unknown as { getRowModel: () => { rows: { id: string; original: T }[] } }
  const shown = columns.filter(({ key }) => !hidden.includes(key))
  const opening = Math.max(
    shown.findIndex(({ opens }) => opens),
    selection ? 1 : 0,
  )
  const model = table.getRowModel().rows
  const place = useRef<HTMLDivElement>(null)
  const isVirtual = model.length > VIRTUAL_ROWS
  const virtual = useVirtualizer({
    count: isVirtual ? model.length : 0,
    getScrollElement: () => place.current,
    estimateSize: () => ROW_PIXELS,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const visible = isVirtual ? items.map(({ index }) => model[index]!) : model
  const before = isVirtual ? (items[0]?.start ?? 0) : 0
  const after = isVirtual ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0
  const toggle = (key: string): void => setSorted(sorted === key ? `-${key}` : sorted === `-${key}` ? undefined : key)
  return (
    <div
      ref={place}
      className={styles['place']}
      data-virtual={isVirtual || undefined}
      role="region"
      aria-label={label}
      tabIndex={isVirtual ? 0 : -1}
    >
      <table
        className={styles['table']}
        aria-rowcount={model.length}
        onKeyDown={(event) => onRowKey(event, (at) => onEdit?.(model[at]!.original))}
      >
        <thead>
          <tr>
            {shown.map(({ key, title, head, sort, numeric, width }) => {
              const direction = sorted === key ? 'ascending' : sorted === `-${key}` ? 'descending' : undefined
              return (
                <th
                  key={key}
                  scope="col"
                  data-numeric={numeric || undefined}
                  style={{ width, minWidth: width }}
                  aria-sort={direction}
                >
                  {sort ? (
                    <button type="button" onClick={() => toggle(key)}>
                      {title}
                      {direction && <Icon name={direction === 'ascending' ? 'arrow-up' : 'arrow-down'} size={12} />}
                    </button>
                  ) : (
                    (head ?? (title || <span className="visually-hidden">Actions</span>))
                  )}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>
          <Spacer height={before} />
          {visible.map(({ id, original }, at) => (
            <tr
              key={id}
              {...rowProps?.(original)}
              data-row={(items[0]?.index ?? 0) + at}
              data-selected={selection?.chosen.has(id) || undefined}
              data-off={isOff?.(original) || undefined}
              data-open={onOpen ? true : undefined}
              onClick={(event) => {
                if (onOpen && !isControl(event.target)) onOpen(original)
              }}
            >
              {shown.map(({ key, title, cell, numeric, fill, card }, at) => (
                <td
                  key={key}
                  data-title={title}
                  data-numeric={numeric || undefined}
                  data-fill={fill || undefined}
                  data-card={card}
                >
                  {at === opening && onOpen && nameOf ? (
                    <button
                      type="button"
                      className={styles['open']}
                      data-open-row
                      aria-label={nameOf(original)}
                      onClick={() => onOpen(original)}
                    >
                      {cell(original)}
                    </button>
                  ) : (
                    cell(original)
                  )}
                </td>
              ))}
            </tr>
          ))}
          <Spacer height={after} />
        </tbody>
      </table>
    </div>
  )
}

const Spacer = ({ height }: { height: number }) =>
  height > 0 ? (
    <tr aria-hidden="true">
      <td style={{ height, padding: 0 }} />
    </tr>
  ) : null

const isControl = (target: EventTarget): boolean =>
  target instanceof Element &&
  target.closest('a, button, input, select, label, [role=menuitem], [role=switch]') !== null

/** The column of check boxes. The box in its head selects all rows. */
function choiceOf<T>(
  { chosen, choose, nameOf }: Selection<T>,
  rows: readonly T[],
  keyOf: (row: T) => string,
): Column<T> {
  const keys = rows.map(keyOf)
  const areAll = keys.length > 0 && keys.every((key) => chosen.has(key))
  return {
    key: 'chosen',
    title: 'Select',
    width: 40,
    head: (
      <CheckField
        label={<span className="visually-hidden">Select all rows</span>}
        on={areAll}
        onChange={(on) => choose(new Set(on ? keys : []))}
      />
    ),
    cell: (row) => (
      <span data-select>
        <CheckField
          label={<span className="visually-hidden">Select {nameOf(row)}</span>}
          on={chosen.has(keyOf(row))}
          onChange={(on) => {
            const next = new Set(chosen)
            if (on) next.add(keyOf(row))
            else next.delete(keyOf(row))
            choose(next)
          }}
        />
      </span>
    ),
  }
}
