import type { Tag } from '../events.js'
import { isLineNumber } from '../language.js'
import { SHORT_CELL, type CellTag, type Table } from '../table.js'
import { beginCode } from './blocks.js'
import { words, type ElementPage, type Family } from './element.js'

/** Maximum depth of nested tables. The cells of deeper ones are plain text. */
const MAX_DEPTH = 16

export const tables: Family = {
  names: ['table'],
  open(page, tag) {
    // GitHub shows a file as a table of its lines.
    if (tag.attributeIncludes('class', 'js-file-line-container')) return beginCode(page, tag)
    const { table } = page
    if (page.deepTables > 0 || (table?.depth ?? 0) >= MAX_DEPTH || !page.beginBlock()) {
      page.boundary()
      page.deepTables++
      return undefined
    }
    const isLayout = /^(?:presentation|none)$/i.test(tag.attribute('role') ?? '')
    page.table = page.newTable(table, isLayout ? 'layout' : 'held')
    return undefined
  },
  close(page) {
    if (page.deepTables > 0) {
      page.boundary()
      page.deepTables--
    } else page.endTable()
  },
}

export const captions: Family = {
  names: ['caption'],
  open: (page) => page.boundary(),
  close: (page) => page.boundary(),
}

export const groups: Family = {
  names: words('thead tbody tfoot'),
  open: (page, tag) => beginGroup(page, tag.name === 'thead'),
  close: (page) => beginGroup(page, false),
}

function beginGroup(page: ElementPage, isHead: boolean): void {
  const { table } = page
  if (table === undefined || page.deepTables > 0) return page.boundary()
  endRow(page, table)
  table.inHead = isHead
}

export const rows: Family = {
  names: ['tr'],
  open(page) {
    const { table } = page
    if (table === undefined || page.deepTables > 0) return page.boundary()
    endRow(page, table)
    table.openRow()
  },
  close(page) {
    const { table } = page
    if (table === undefined || page.deepTables > 0) return page.boundary()
    endRow(page, table)
  },
}

function endRow(page: ElementPage, table: Table): void {
  page.endCell(table)
  page.endBlock()
  table.closeRow()
  // A long table may already be known to be for layout.
  if (table.state === 'layout') page.writeHeld(table)
}

export const cells: Family = {
  names: ['td', 'th'],
  open(page, tag) {
    const { table, line } = page
    if (table === undefined || page.deepTables > 0) return line.space()
    if (isLineNumber(tag)) return 'skip'
    page.endCell(table)
    if (table.state === 'layout') {
      if (line.length > SHORT_CELL) page.endBlock()
      else line.space()
      table.floor = page.writer.raise()
    } else page.endBlock()
    table.formats = line.depth
    table.openCell(cellTag(tag))
  },
  close(page) {
    const { table, line } = page
    if (table === undefined || page.deepTables > 0) return line.space()
    page.endCell(table)
  },
}

function cellTag(tag: Tag): CellTag {
  const style = tag.attribute('style')
  const align = tag.attribute('align') ?? (style === undefined ? undefined : /text-align\s*:\s*(\w+)/i.exec(style)?.[1])
  return {
    isHeader: tag.name === 'th',
    columns: spanOf(tag.attribute('colspan'), 1000),
    rows: spanOf(tag.attribute('rowspan'), 65_534),
    align: (align === undefined ? undefined : ALIGNS.get(align.toLowerCase())) ?? '',
  }
}

const ALIGNS: ReadonlyMap<string, CellTag['align']> = new Map([
  ['left', 'left'],
  ['center', 'center'],
  ['right', 'right'],
])

/** Parses a span. WHATWG HTML, 4.9.11: 0 and anything that is not a number count as 1. */
function spanOf(text: string | undefined, max: number): number {
  if (text === undefined) return 1
  return Math.min(Math.max(Number.parseInt(text, 10) || 1, 1), max)
}
