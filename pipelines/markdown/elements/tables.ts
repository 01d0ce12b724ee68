import type { Tag } from '../text/events.js'
import { isLineNumber } from '../text/language.js'
import { SHORT_CELL, type CellTag, type Table } from '../output/table.js'
import { beginCode } from './blocks.js'
import { words, type ElementPage, type Family } from './element.js'
import { isSegment, isWrapperOfSegment } from './segments.js'

/** Maximum depth of nested tables. The cells of deeper ones are plain text. */
const MAX_DEPTH = 16

export const tables: Family = {
  names: ['table'],
  open(page, tag) {
    // GitHub shows a file as a table of its lines.
    if (tag.attributeIncludes('class', 'js-file-line-container')) return beginCode(page, tag)
    const { table } = page
    const isWrapper = isWrapperOfSegment(tag)
    if (page.deepTables > 0 || (table?.depth ?? 0) >= MAX_DEPTH || !page.beginBlock()) {
      if (isWrapper) return 'skip'
      page.boundary()
      page.deepTables++
      return undefined
    }
    const isLayout = /^(?:presentation|none)$/i.test(tag.attribute('role') ?? '')
    page.table = page.newTable(table, isLayout ? 'layout' : 'held')
    page.table.isWrapper = isWrapper
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
  open: (page, tag) => (isLeftOut(page, tag) ? 'skip' : beginGroup(page, tag.name === 'thead')),
  close: (page) => beginGroup(page, false),
}

/** Returns whether a part of a hidden table is not a segment that it wraps. Its cells are left out like it. */
function isLeftOut({ table }: ElementPage, tag: Tag): boolean {
  if (table?.isWrapper !== true) return false
  table.isWrapper = !isSegment(tag)
  return table.isWrapper
}

function beginGroup(page: ElementPage, isHead: boolean): void {
  const { table } = page
  if (table === undefined || page.deepTables > 0) return page.boundary()
  endRow(page, table)
  table.inHead = isHead
}

export const rows: Family = {
  names: ['tr'],
  open(page, tag) {
    const { table } = page
    if (isLeftOut(page, tag)) return 'skip'
    if (table === undefined || page.deepTables > 0) return page.boundary()
    endRow(page, table)
    table.openRow()
    return undefined
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
  open: (page, tag) =>
    isLineNumber(tag) || page.table?.isWrapper === true ? 'skip' : openCell(page, tag, tag.name === 'th'),
  close(page) {
    const { table, line } = page
    if (table === undefined || page.deepTables > 0) return line.space()
    page.endCell(table)
  },
}

export function openCell(page: ElementPage, tag: Tag, isHeader: boolean): void {
  const { table, line } = page
  if (table === undefined || page.deepTables > 0) return line.space()
  page.endCell(table)
  if (table.state === 'layout') {
    if (line.length > SHORT_CELL) page.endBlock()
    else line.space()
    table.floor = page.writer.raise()
  } else page.endBlock()
  table.formats = line.depth
  table.openCell(cellTag(tag, isHeader))
}

function cellTag(tag: Tag, isHeader: boolean): CellTag {
  const style = tag.attribute('style')
  const align =
    tag.attribute('align') ??
    (style === undefined ? undefined : /text-align\s*:\s*(\w+)/i.exec(style)?.[1]) ??
    ALIGNING.exec(tag.attribute('class') ?? '')?.[1]
  return {
    isHeader,
    columns: spanOf(tag.attribute('colspan'), 1000),
    rows: spanOf(tag.attribute('rowspan'), 65_534),
    align: (align === undefined ? undefined : ALIGNS.get(align.toLowerCase())) ?? '',
  }
}

/** Classes of cells that name their alignment. */
const ALIGNING = /(?:^|\s)(?:text|align|has-text-align|halign|ta|has-text)-(left|center|right)(?=\s|$)/i

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
