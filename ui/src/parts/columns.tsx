import { Menu as BaseMenu } from '@base-ui/react/menu'
import { useState, type ReactNode } from 'react'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'
import { useIsNarrow } from './narrow.ts'
import panel from './panel.module.css'
import styles from './columns.module.css'
import type { Column } from './table.tsx'

/** Columns that the reader has shown or hidden, by their key. */
type Choices = Readonly<Record<string, boolean>>

type AnyColumn = Pick<Column<never>, 'key' | 'title' | 'card' | 'opens' | 'optional'>

const storedAs = (table: string): string => `edged.columns.${table}`

function read(table: string): Choices {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storedAs(table)) ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Choices) : {}
  } catch {
    return {}
  }
}

/** Whether a column can be hidden: not the name of the row, and not its menu. */
const isFree = ({ title, card, opens = false }: AnyColumn): boolean =>
  title !== '' && card !== 'title' && card !== 'menu' && !opens

/**
 * The columns of a table that are hidden, and the menu that shows and hides columns. The browser stores the choice under the
 * name of the table. A phone has cards in place of columns.
 */
export function useColumns(
  table: string,
  columns: readonly AnyColumn[],
): { readonly hidden: readonly string[]; readonly chooser: ReactNode } {
  const [choices, setChoices] = useState(() => read(table))
  const isNarrow = useIsNarrow()
  const isShown = ({ key, optional = false }: AnyColumn): boolean => choices[key] ?? !optional
  const store = (next: Choices): void => {
    setChoices(next)
    if (Object.keys(next).length === 0) localStorage.removeItem(storedAs(table))
    else localStorage.setItem(storedAs(table), JSON.stringify(next))
  }
  const free = columns.filter(isFree)
  return {
    hidden: free.filter((column) => !isShown(column)).map(({ key }) => key),
    chooser: isNarrow ? null : (
      <BaseMenu.Root>
        <BaseMenu.Trigger render={<IconButton icon="columns" label="Columns" />} />
        <BaseMenu.Portal>
          <BaseMenu.Positioner className={panel['positioner']} align="end" sideOffset={4}>
            <BaseMenu.Popup className={panel['menu']}>
              {free.map((column) => (
                <Choice
                  key={column.key}
                  title={column.title}
                  on={isShown(column)}
                  onChange={(on) => store(withChoice(choices, column, on))}
                />
              ))}
              {Object.keys(choices).length > 0 && (
                <BaseMenu.Item className={panel['item']} onClick={() => store({})}>
                  <span className={styles['mark']} />
                  Show the usual ones
                </BaseMenu.Item>
              )}
            </BaseMenu.Popup>
          </BaseMenu.Positioner>
        </BaseMenu.Portal>
      </BaseMenu.Root>
    ),
  }
}

/** A choice that is the usual one is not stored. */
function withChoice(choices: Choices, { key, optional = false }: AnyColumn, on: boolean): Choices {
  const { [key]: _old, ...others } = choices
  return on === optional ? { ...others, [key]: on } : others
}

const Choice = ({ title, on, onChange }: { title: string; on: boolean; onChange: (on: boolean) => void }) => (
  <BaseMenu.CheckboxItem className={panel['item']} checked={on} closeOnClick={false} onCheckedChange={onChange}>
    <span className={styles['mark']}>{on && <Icon name="check" />}</span>
    {title}
  </BaseMenu.CheckboxItem>
)
