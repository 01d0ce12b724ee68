import type { KeyboardEvent } from 'react'

const STEPS: Readonly<Record<string, number>> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }

const isTyping = (target: EventTarget): boolean =>
  (target instanceof HTMLInputElement && target.type !== 'checkbox') || target instanceof HTMLSelectElement

/**
 * The keys of a table. `j`, `k` and the arrows move the focus to another row, `x` selects the row and `e` edits the row.
 * `edit` gets the place of the row in the table.
 */
export function onRowKey(event: KeyboardEvent<HTMLTableElement>, edit: (at: number) => void): void {
  const { key, target } = event
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(target)) return
  const row = (target as Element).closest<HTMLElement>('[data-row]')
  if (key === 'e' && row) edit(Number(row.dataset['row']))
  else if (key === 'x') row?.querySelector<HTMLElement>('[data-select] input')?.click()
  else if (STEPS[key] === undefined || !moveFocus(event.currentTarget, row, STEPS[key])) return
  event.preventDefault()
}

/** Returns whether there is such a row. */
function moveFocus(table: Element, row: Element | null, step: number): boolean {
  const buttons = [...table.querySelectorAll<HTMLElement>('[data-open-row]')]
  const next = buttons[buttons.findIndex((button) => row?.contains(button)) + step]
  next?.focus()
  return next !== undefined
}

/** `j` and `k` outside of a table: the focus goes to the first or the last row of the page. */
export function enterRows(key: string): void {
  const buttons = [...document.querySelectorAll<HTMLElement>('main [data-open-row]')]
  buttons.at(key === 'j' ? 0 : -1)?.focus()
}
