/** Behaviour of all pages of the documentation: theme, copying, menu of phones, place on the page, search. */
import { addCopyButtons } from './copy.ts'
import { followHeadings } from './headings.ts'
import { drawer } from './drawer.ts'
import { applyTheme, storedTheme, THEMES } from './theme.ts'

const button = document.querySelector<HTMLButtonElement>('button.theme')!
const nameTheme = (): void => {
  button.setAttribute('aria-label', `Theme: ${storedTheme()}`)
  button.title = `Theme: ${storedTheme()}`
}
button.addEventListener('click', () => {
  applyTheme(THEMES[(THEMES.indexOf(storedTheme()) + 1) % THEMES.length]!)
  nameTheme()
})
nameTheme()

addCopyButtons()
followHeadings()
drawer()
showBoxes()
showOldOperation().catch(() => undefined)

/** Loads the search with the first use, because its index is larger than the pages. */
const search = () => import('./search.ts')
for (const opener of document.querySelectorAll<HTMLButtonElement>('[data-search]')) {
  opener.addEventListener('click', () => void openSearch())
  for (const event of ['focus', 'pointerenter']) opener.addEventListener(event, () => void preload(), { once: true })
}
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && /^(input|textarea|select)$/i.test(event.target.tagName)
  const wanted = event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey
  const palette = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
  if (!wanted && !palette) return
  event.preventDefault()
  void openSearch()
})

async function openSearch(): Promise<void> {
  const { open } = await search()
  await open()
}
async function preload(): Promise<void> {
  const { load } = await import('./manual-index.ts')
  await load().catch(() => undefined)
}

/** Boxes of code and tables that fit need no place in the order of the keyboard. */
function showBoxes(): void {
  const boxes = document.querySelectorAll<HTMLElement>('pre, .scroll')
  const update = (): void => {
    for (const box of boxes) box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1
  }
  new ResizeObserver(update).observe(document.body)
  document.addEventListener('toggle', update, true)
  update()
}

/** The manual of the API was the page `/docs/`. Its links have the id of an operation, which is on another page now. */
async function showOldOperation(): Promise<void> {
  const id = location.hash.slice(1)
  if (!/^\/docs\/(index\.html)?$/.test(location.pathname) || id === '') return
  const operations = (await (await fetch('/docs/operations.json')).json()) as Record<string, string>
  const area = id.startsWith('area-')
    ? Object.entries(operations).find(([name]) => name.includes(id.slice(5)))
    : undefined
  const file = area?.[1] ?? operations[id]
  if (file !== undefined) location.replace(`/docs/${file}${area ? '' : `#${id}`}`)
}
