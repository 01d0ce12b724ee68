import { codeAt, holds, indexIn, lengthOf, part } from '../text/characters.js'
import type { Writer } from './writer.js'

/** Number of rows after which further rows of a table are written immediately. */
const HELD_ROWS = 200
const HELD_CHARACTERS = 64 * 1024

/** Cells of a row beyond these go into its last one. */
const MAX_COLUMNS = 1000

/** Maximum nesting of lists in one cell. Items of deeper lists count for the last. */
const MAX_LISTS = 64

/** Maximum characters of the cells of one row that are written as text on one line. Longer cells are paragraphs. */
export const SHORT_CELL = 60

const LF = 0x0a
const SPACE = 0x20

interface Row {
  readonly cells: string[]
  /** In a `thead`, or nothing but `th`. */
  head: boolean
  /** Cells in the page, before spans added empty ones. */
  count: number
}

type Align = '' | 'left' | 'center' | 'right'

/** Attributes of a cell's tag. */
export interface CellTag {
  isHeader: boolean
  columns: number
  rows: number
  align: Align
}

/**
 * A table of the page. Its rows are buffered until it is known whether the table holds data or is used for layout. Data
 * becomes a GFM table, anything else plain blocks. A long table of data is written row by row.
 *
 * - `held` means that the type is not known yet.
 * - `data` means that its header is written, and every row is written at its end.
 * - `layout` means that its cells are written as if there were no table.
 */
export class Table {
  state: 'held' | 'data' | 'layout'
  /** It is hidden, and only segments inside it are not. */
  isWrapper = false
  /** In a row's cell. */
  inCell = false
  inHead = false
  /** Result of `Writer.raise` for the open cell. */
  floor: number | undefined
  /** Inline elements that were open before the cell was. */
  formats = 0

  /** The table around this one. */
  readonly outer: Table | undefined
  /** How many tables are around this one. */
  readonly depth: number

  readonly #writer: Writer
  #rows: Row[] = []
  #row: Row | undefined
  #cell = ''
  #caption = ''
  #characters = 0
  #columns = 0
  #aligns: Align[] = []
  /** Number of further rows in which a cell above occupies each column. */
  #spans: number[] = []
  /** The number of the next item of each list that is open in the cell, undefined without numbers. */
  readonly #numbers: (number | undefined)[] = []
  /** Number of empty cells that may be written, so that they do not outgrow the page. */
  #spare = 1000

  constructor(writer: Writer, outer: Table | undefined, state: 'held' | 'layout') {
    this.#writer = writer
    this.outer = outer
    this.depth = outer === undefined ? 0 : outer.depth + 1
    this.state = state
  }

  openRow(): void {
    this.closeRow()
    this.#row = { cells: [], head: true, count: 0 }
  }

  openCell(tag: CellTag): void {
    if (this.#row === undefined) this.openRow()
    const row = this.#row as Row
    this.#skipSpans(row)
    const column = row.cells.length
    row.count++
    if (!tag.isHeader && !this.inHead) row.head = false
    this.#spare += 2
    for (let at = column; at < Math.min(column + tag.columns, MAX_COLUMNS) && tag.rows > 1 && this.#spare-- > 0; at++) {
      while (this.#spans.length < at) this.#spans.push(0)
      this.#spans[at] = tag.rows - 1
    }
    if (tag.align !== '' && (this.#aligns[column] ?? '') === '' && column < MAX_COLUMNS) {
      while (this.#aligns.length < column) this.#aligns.push('')
      this.#aligns[column] = tag.align
    }
    this.#width = tag.columns
    this.#cell = ''
    this.inCell = true
    this.#isHeader = tag.isHeader || this.inHead
  }

  #isHeader = false

  /** In a cell that heads a row or a column. */
  get inHeader(): boolean {
    return this.inCell && this.#isHeader
  }

  /** Columns that the open cell takes. */
  #width = 1

  /** Adds a block to the cell that is open, or outside of one, to the caption. */
  add(markdown: string): void {
    this.#characters += lengthOf(markdown)
    if (this.inCell) this.#cell += this.#cell === '' ? markdown : '\n\n' + markdown
    else this.#caption += this.#caption === '' ? markdown : '\n\n' + markdown
  }

  /**
   * Whether a list in the open cell stays in it, because the table has a heading row, or is known to hold data.
   * Otherwise a list shows that the table is used for layout.
   */
  get holdsLists(): boolean {
    if (!this.inCell) return false
    if (this.state !== 'held') return this.state === 'data'
    return this.#isHeaded
  }

  /** Whether a list is open in the open cell. */
  get inList(): boolean {
    return this.#numbers.length > 0
  }

  /** Opens a list in the open cell. Its items are lines of the cell. */
  openList(ordered: boolean, start = 1): void {
    if (this.#numbers.length < MAX_LISTS) this.#numbers.push(ordered ? start : undefined)
  }

  closeList(): void {
    this.#numbers.pop()
  }

  /** Returns the marker before an item in a cell. `number` is set if the item has its own number. */
  itemMarker(number?: number): string {
    const last = this.#numbers.length - 1
    const next = this.#numbers[last]
    if (next === undefined) return '- '
    this.#numbers[last] = (number ?? next) + 1
    return `${number ?? next}. `
  }

  get #isHeaded(): boolean {
    const [first] = this.#rows
    return first !== undefined && first.head && first.count > 1
  }

  closeCell(): void {
    if (!this.inCell) return
    this.inCell = false
    this.#numbers.length = 0
    const { cells } = this.#row as Row
    if (cells.length < MAX_COLUMNS) cells.push(this.#cell)
    else cells[MAX_COLUMNS - 1] += ' ' + this.#cell
    for (let more = Math.min(this.#width, MAX_COLUMNS - cells.length); more > 1 && this.#spare > 0; more--) {
      cells.push('')
      this.#spare--
    }
    this.#cell = ''
  }

  closeRow(): void {
    this.closeCell()
    const row = this.#row
    if (row === undefined) return
    this.#row = undefined
    if (row.count === 0) return
    while (row.cells.length > row.count && row.cells.at(-1) === '') row.cells.pop()
    if (this.state === 'data') {
      this.#writer.more(rowOf(row.cells, this.#columns))
      return
    }
    this.#rows.push(row)
    this.#columns = Math.max(this.#columns, row.cells.length)
    if (this.state === 'held' && (this.#rows.length >= HELD_ROWS || this.#characters >= HELD_CHARACTERS)) this.#decide()
  }

  /** Columns that cells of earlier rows reach into. */
  #skipSpans(row: Row): void {
    const spans = this.#spans
    while (row.cells.length < spans.length && (spans[row.cells.length] as number) > 0 && this.#spare > 0) {
      ;(spans[row.cells.length] as number)--
      row.cells.push('')
      this.#spare--
    }
  }

  /** Ends the table. Returns the blocks to write if it holds no data. */
  end(): string[] {
    this.closeRow()
    if (this.state === 'held') this.#decide()
    return this.release()
  }

  #decide(): void {
    const isData = this.#isHeaded ? this.#rows.length > 1 : this.#rows.filter((row) => row.count > 1).length > 1
    if (!isData) {
      this.state = 'layout'
      return
    }
    this.state = 'data'
    if (this.#caption !== '') this.#writer.leaf('text', this.#caption)
    this.#caption = ''
    const header = headerOf(this.#rows)
    const rows = header === undefined ? this.#rows : this.#rows.slice(1)
    const rules = Array.from({ length: this.#columns }, (_, column) => RULES[this.#aligns[column] ?? ''])
    const cells = Array.from({ length: this.#columns }, (_, column) => header?.cells[column] ?? '')
    this.#writer.leaf('table', rowOf(cells, this.#columns))
    this.#writer.more(`| ${rules.join(' | ')} |`)
    for (const row of rows) this.#writer.more(rowOf(row.cells, this.#columns))
    this.#rows = []
  }

  /** Makes a table for layout of this one. Returns the blocks that were held. */
  release(): string[] {
    if (this.state === 'data') return []
    this.state = 'layout'
    const blocks = this.#caption === '' ? [] : [this.#caption]
    for (const row of this.#rows) addBlocks(row.cells, blocks)
    if (this.#row !== undefined) addBlocks([...this.#row.cells, this.#cell], blocks)
    if (this.#row !== undefined) this.#row = { cells: [], head: false, count: 0 }
    this.#caption = this.#cell = ''
    this.#rows = []
    return blocks
  }
}

const RULES = { '': '---', left: ':---', center: ':---:', right: '---:' }

/** A table's first row heads it unless it is one of rows that each have their own header. */
function headerOf(rows: readonly Row[]): Row | undefined {
  const first = rows[0] as Row
  return first.head || !rows.some((row) => row.head) ? first : undefined
}

function rowOf(cells: readonly string[], columns: number): string {
  const shown = cells.length > columns ? [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' ')] : cells
  const row = shown.join(' | ')
  return `| ${isRow(row, shown.length) ? row : escapedRow(row, shown)} |`
}

/** Returns joined cells with their line breaks and bars replaced. Cells are read from the row, which is one flat string. */
function escapedRow(row: string, cells: readonly string[]): string {
  let start = 0
  const escaped = cells.map((cell) => {
    const end = start + lengthOf(cell)
    const markdown = part(row, start, end)
    start = end + ' | '.length
    return cellOf(markdown)
  })
  return escaped.join(' | ')
}

/** Returns whether joined cells are a row. They must be on one line, and only the joining text may end a cell. */
function isRow(row: string, cells: number): boolean {
  if (holds(row, '\n')) return false
  let left = cells
  for (let at = indexIn(row, '|', 0); at >= 0 && left > 0; at = indexIn(row, '|', at + 1)) left--
  return left === 1
}

function cellOf(markdown: string): string {
  const line = joinedByBreaks(markdown)
  return holds(line, '|') ? line.replaceAll('|', '\\|') : line
}

/** Returns Markdown on one line, with a `<br>` for each run of line breaks and the spaces before it. */
function joinedByBreaks(markdown: string): string {
  const length = lengthOf(markdown)
  let joined = ''
  let from = 0
  for (let at = indexIn(markdown, '\n', 0); at >= 0; at = indexIn(markdown, '\n', from)) {
    let end = at
    while (end > from && codeAt(markdown, end - 1) === SPACE) end--
    joined += part(markdown, from, end) + '<br>'
    from = at + 1
    while (from < length && codeAt(markdown, from) === LF) from++
  }
  return from === 0 ? markdown : joined + part(markdown, from, length)
}

/** Short cells of a row side by side, all others as blocks of their own. */
function addBlocks(cells: readonly string[], blocks: string[]): void {
  let line = ''
  const flush = () => {
    if (line !== '') blocks.push(line)
    line = ''
  }
  for (const cell of cells) {
    if (cell === '') continue
    if (line.length > SHORT_CELL || cell.includes('\n\n')) flush()
    if (cell.includes('\n\n')) for (const block of cell.split('\n\n')) blocks.push(block)
    else line += line === '' ? cell : ' ' + cell
  }
  flush()
}
