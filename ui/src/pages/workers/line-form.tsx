import type { ReactNode } from 'react'
import { Button } from '../../parts/button.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import styles from './workers.module.css'

/** A line of fields below a table, with a button that adds a row. */
export const LineForm = ({
  verb,
  busy = false,
  onSubmit,
  children,
}: {
  verb: string
  busy?: boolean
  onSubmit: () => void
  children: ReactNode
}) => (
  <form
    className={styles['line']}
    onSubmit={(event) => {
      event.preventDefault()
      onSubmit()
    }}
  >
    {children}
    <Button type="submit" busy={busy}>
      {verb}
    </Button>
  </form>
)

/** The rows of a Worker below their title, or a sentence without rows. */
export const OwnTable = <T,>({
  label,
  rows,
  columns,
  keyOf,
  none,
}: {
  label: string
  rows: readonly T[]
  columns: readonly Column<T>[]
  keyOf: (row: T) => string
  none: string
}) =>
  rows.length > 0 ? (
    <DataTable label={label} rows={rows} columns={columns} keyOf={keyOf} sortParam={label.toLowerCase()} />
  ) : (
    <p className="soft">{none}</p>
  )
