import { load, type Section } from './manual-index.ts'

const MAX_PAGES = 8
const MAX_SECTIONS = 4
const EXCERPT_LENGTH = 150

/** Opens the search. */
export async function open(): Promise<void> {
  const dialog = document.querySelector<HTMLDialogElement>('dialog.search') ?? create()
  if (dialog.open) return
  dialog.showModal()
  const field = dialog.querySelector('input')!
  field.select()
  try {
    await load()
    field.dispatchEvent(new Event('input'))
  } catch {
    say(dialog, 'The index of the search cannot be loaded. Close the search and open it again.')
  }
}

function create(): HTMLDialogElement {
  const dialog = document.createElement('dialog')
  dialog.className = 'search'
  dialog.setAttribute('aria-label', 'Search')
  dialog.innerHTML = `<div class="field"><input type="search" role="combobox" aria-label="Search the documentation"
placeholder="Setting, field, command or endpoint" aria-expanded="false" aria-autocomplete="list" aria-controls="found" autocomplete="off" spellcheck="false">
<button type="button" class="close">Close</button></div>
<div id="found" role="listbox" aria-label="Results"></div><p class="state" role="status"></p>
<p class="keys"><kbd>↑</kbd><kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</p>`
  document.body.append(dialog)
  const field = dialog.querySelector('input')!
  dialog.querySelector('.close')!.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', ({ target }) => {
    // The backdrop is the dialog itself.
    if (target === dialog || (target instanceof Element && target.closest('a'))) dialog.close()
  })
  field.addEventListener('input', () => void update(dialog, field.value.trim()))
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') dialog.querySelector<HTMLElement>('[aria-selected="true"]')?.click()
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    move(dialog, event.key === 'ArrowDown' ? 1 : -1)
  })
  return dialog
}

async function update(dialog: HTMLDialogElement, query: string): Promise<void> {
  const { find } = await load()
  const sections = query === '' ? [] : find(query)
  const groups = new Map<string, Section[]>()
  for (const section of sections) groups.set(section.file, [...(groups.get(section.file) ?? []), section])
  const list = dialog.querySelector('#found')!
  list.replaceChildren(...[...groups.values()].slice(0, MAX_PAGES).map((group, at) => groupOf(group, at, query)))
  const shown = list.querySelectorAll('a').length
  dialog.querySelector('input')!.setAttribute('aria-expanded', String(shown > 0))
  say(dialog, query === '' ? '' : shown === 0 ? `Nothing found for “${query}”. Try fewer or other words.` : '')
  list.scrollTop = 0
  move(dialog, 1)
}

const say = (dialog: HTMLDialogElement, text: string): void => {
  dialog.querySelector('.state')!.textContent = text
}

function groupOf(sections: readonly Section[], at: number, query: string): HTMLElement {
  const box = element('div', { role: 'group', 'aria-labelledby': `group-${at}` })
  box.append(element('p', { id: `group-${at}`, class: 'page' }, sections[0]!.page))
  const words = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
  for (const { file, anchor, href, title, text } of sections.slice(0, MAX_SECTIONS)) {
    const link = element('a', {
      href,
      role: 'option',
      id: `option-${file}-${anchor}`,
      'aria-selected': 'false',
      tabindex: '-1',
    })
    const name = element('b', {})
    name.append(...marked(title, words))
    const excerpt = element('span', {})
    excerpt.append(...marked(excerptOf(text, words), words))
    link.append(name, excerpt)
    box.append(link)
  }
  return box
}

/** Returns the part of a text around its first found word. */
function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase()
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0)
  const start = Math.max(0, Math.min(...places, text.length) - 40)
  const from = places.length === 0 || start === 0 ? 0 : text.indexOf(' ', start) + 1
  if (from + EXCERPT_LENGTH >= text.length) return `${from > 0 ? '… ' : ''}${text.slice(from)}`
  const end = text.lastIndexOf(' ', from + EXCERPT_LENGTH)
  return `${from > 0 ? '… ' : ''}${text.slice(from, end > from ? end : from + EXCERPT_LENGTH)} …`
}

/** Returns the text with the found words in `<mark>`. */
function marked(text: string, words: readonly string[]): (string | Node)[] {
  if (words.length === 0) return [text]
  const pattern = new RegExp(`(${words.join('|')})`, 'gi')
  return text.split(pattern).map((part, at) => (at % 2 === 0 ? part : element('mark', {}, part)))
}

function element(name: string, attributes: Readonly<Record<string, string>>, text = ''): HTMLElement {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.textContent = text
  return made
}

/** Selects the next or the previous result. */
function move(dialog: HTMLDialogElement, step: number): void {
  const options = [...dialog.querySelectorAll<HTMLElement>('[role="option"]')]
  const field = dialog.querySelector('input')!
  const current = options.findIndex((option) => option.getAttribute('aria-selected') === 'true')
  const next = options[(current + step + options.length) % options.length] ?? options[0]
  options[current]?.setAttribute('aria-selected', 'false')
  if (!next) return field.removeAttribute('aria-activedescendant')
  next.setAttribute('aria-selected', 'true')
  next.scrollIntoView({ block: 'nearest' })
  field.setAttribute('aria-activedescendant', next.id)
}
