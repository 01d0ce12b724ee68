import { useEffect } from 'react'
import type { Place } from '../place.tsx'
import { useGo } from '../address.tsx'
import { pagesOf } from '../pages/index.ts'
import { enterRows } from '../parts/row-keys.ts'

const SECOND_KEY_MS = 1200

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || target.closest('input, textarea, select, [role=dialog], .editor') !== null)

/** The focus is in a table, which has keys of its own. */
const isInRow = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('main [data-row]') !== null

/**
 * Keys of every page: `g` and a letter open a page, `/` goes to the search of the page, `t` opens the range, `j` and `k` go to
 * the rows.
 */
export function useShortcuts(place: Place): void {
  const go = useGo()
  useEffect(() => {
    let first = 0
    const pressed = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('main input[type=search]')
        if (search) event.preventDefault()
        search?.focus()
      } else if (event.key === 't') document.querySelector<HTMLElement>('[data-range]')?.click()
      else if (event.key === '?') document.dispatchEvent(new CustomEvent('edged:keys'))
      else if ((event.key === 'j' || event.key === 'k') && !isInRow(event.target)) enterRows(event.key)
      else if (event.key === 'g') first = event.timeStamp
      else if (event.timeStamp - first < SECOND_KEY_MS) {
        const page = pagesOf(place).find(({ key }) => key === event.key)
        first = 0
        if (page)
          go(
            page.scope === (place.zone ? 'z' : 'a')
              ? { page: page.path }
              : { scope: page.scope, place: place.account.id, page: page.path },
          )
      }
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  })
}
