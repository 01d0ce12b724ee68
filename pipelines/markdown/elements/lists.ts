import { codeAt } from '../text/characters.js'
import type { ElementPage, Family } from './element.js'
import { NoteStart } from './footnotes.js'

export const lists: Family = {
  names: ['ul', 'ol'],
  open(page, tag) {
    const start = numberOf(tag.attribute('start'))
    if (page.table?.holdsLists === true) {
      page.endBlock()
      page.table.openList(tag.name === 'ol', start)
    } else if (page.beginBlock()) page.writer.openList(tag.name === 'ol', start)
  },
  close(page) {
    page.endHeading()
    page.endBlock()
    if (page.table?.inList === true) page.table.closeList()
    else if (page.table?.state !== 'data') {
      dropHollowItem(page)
      page.writer.closeList()
    }
  },
}

export const items: Family = {
  names: ['li'],
  open(page, tag) {
    page.endHeading()
    page.endBlock()
    if (page.table === undefined || page.table.state === 'layout') {
      dropHollowItem(page, page.opened - 1)
      const label = page.footnotes?.labelOf(tag)
      page.writer.openItem(numberOf(tag.attribute('value')), label)
      if (label !== undefined) page.aside = new NoteStart(page, label)
      page.openedAtItem = page.opened
    } else page.line.text(page.table.itemMarker(numberOf(tag.attribute('value'))))
  },
  close(page) {
    page.endHeading()
    page.endBlock()
    const { table } = page
    if (table !== undefined && (table.state === 'data' || table.inList)) return
    dropHollowItem(page)
    page.writer.closeItem()
  },
}

/**
 * Drops the open item if its elements have nothing to write, such as buttons and icons. An item without any element
 * stays. `opened` is the number of start tags up to the end of the item.
 */
function dropHollowItem(page: ElementPage, opened = page.opened): void {
  if (opened > page.openedAtItem && page.writer.atItemStart) page.writer.dropItem()
}

/** Makes a task of an item that begins with a checkbox. All other controls are dropped. */
export const inputs: Family = {
  names: ['input'],
  open(page, tag) {
    const { line, writer } = page
    if (tag.attribute('type')?.toLowerCase() !== 'checkbox' || !writer.atItemStart || !line.isEmpty) return
    line.markdown(tag.attribute('checked') === undefined ? '[ ]' : '[x]')
    line.space()
  },
}

/** A box at the start of an item, as a character. */
const BOX = /^[☐☑☒][ \u00a0]+(?=\S)/

/** Returns the Markdown of an item as a task if its text begins with the character of a box. */
export function taskOf(markdown: string): string {
  const first = codeAt(markdown, 0)
  if (first < OPEN_BOX || first > CROSSED_BOX || !BOX.test(markdown)) return markdown
  return markdown.replace(BOX, first === OPEN_BOX ? '[ ] ' : '[x] ')
}

const OPEN_BOX = 0x2610
const CROSSED_BOX = 0x2612

/** Returns a number that is valid for a list in Markdown. CommonMark 0.31.2, 5.2. */
function numberOf(text: string | undefined): number | undefined {
  const digits = text === undefined ? null : /^\s*\+?(\d{1,9})(?!\d)/.exec(text)
  return digits === null ? undefined : Number(digits[1])
}

export const definitionLists: Family = {
  names: ['dl'],
  open(page) {
    if (page.table?.holdsLists === true) page.endBlock()
    else page.beginBlock()
  },
  close(page) {
    page.boundary()
    page.kind = 'text'
  },
}

export const definitions: Family = {
  names: ['dt', 'dd'],
  open(page, tag) {
    page.boundary()
    if (tag.name === 'dt' && page.footnotes?.beginTerm(tag) === true) return 'skip'
    page.kind = tag.name === 'dt' ? 'term' : 'detail'
    return undefined
  },
  close(page) {
    page.boundary()
    page.kind = 'text'
  },
}
