import { NOTES_TITLE } from '../elements/footnotes.js'
import { taskOf } from '../elements/lists.js'
import type { Footnotes } from '../elements/notes.js'
import { withoutKind } from '../elements/callouts.js'
import type { Callout } from '../output/callout.js'
import { escapeStarts } from '../output/escape.js'
import { Line } from '../output/line.js'
import { Table } from '../output/table.js'
import type { Leaf } from '../output/frame.js'
import { Writer } from '../output/writer.js'
import { holds } from '../text/characters.js'

/** Maximum number of blocks in one link that are read as its text, and maximum length of that text. */
const MAX_LINK_BLOCKS = 32
const MAX_LINK_LENGTH = 4000

const NUMBER_SIGN = 0x23

/** The blocks of a page: the open one, the table around it, and where they are written. */
export abstract class PageBlocks {
  readonly line = new Line()
  readonly writer = this.newWriter()

  /** The type of leaf that the open block is written as. */
  kind: Leaf = 'text'
  /** The level of the open heading, or 0. */
  heading = 0
  table: Table | undefined
  missingImage: string | undefined

  #footnotes: Footnotes | undefined
  #callout: Callout | undefined

  get inNote(): boolean {
    return this.writer.inNote
  }

  get footnotes(): Footnotes | undefined {
    return this.#footnotes
  }

  set footnotes(footnotes: Footnotes | undefined) {
    this.#footnotes = footnotes
    this.partsChanged()
  }

  get callout(): Callout | undefined {
    return this.#callout
  }

  set callout(callout: Callout | undefined) {
    this.#callout = callout
    this.partsChanged()
  }

  /** Called after the callout or the footnotes have changed. */
  protected abstract partsChanged(): void

  protected newWriter(): Writer {
    return new Writer()
  }

  /** Begins a block that a paragraph, link or heading cannot contain. Returns false if it must be text of a cell. */
  beginBlock(): boolean {
    this.endHeading()
    this.endBlock()
    if (this.table === undefined || this.table.state === 'layout') return true
    if (this.table.state === 'data') return false
    this.writeHeld(this.table)
    this.table.floor = this.writer.raise()
    return true
  }

  /** Begins or ends a block. Inside a heading or a link this is only white space. */
  boundary(): void {
    const { line } = this
    if (this.heading > 0) {
      line.space()
      return
    }
    if (line.inLink) {
      const blocks = line.countLinkBlock()
      if (blocks <= MAX_LINK_BLOCKS && line.length < MAX_LINK_LENGTH && line.linkIsWritten) {
        line.space()
        return
      }
    }
    this.endBlock()
  }

  /** Writes the open block unless it is empty. */
  endBlock(): void {
    this.missingImage = undefined
    let markdown = this.takeLine()
    if (markdown === '') return
    if (this.#callout !== undefined || this.#footnotes !== undefined) markdown = this.#trimmed(markdown)
    if (markdown === '') return
    if (this.writer.atItemStart) markdown = taskOf(markdown)
    this.#write(this.kind, markdown, this.line.startsMayMean, this.line.isOneLine)
    this.kind = 'text'
  }

  /** Returns a block without text that only names the kind of its callout, and without the space before a link back. */
  #trimmed(markdown: string): string {
    const { callout } = this
    this.callout = undefined
    const text = callout?.isEmpty === true ? withoutKind(callout, markdown) : markdown
    return this.footnotes !== undefined && this.inNote ? text.replace(/(?:&nbsp;|[\s\u00a0])+$/, '') : text
  }

  /** Ends the contents of the open block and returns its Markdown. */
  protected takeLine(): string {
    return this.line.take()
  }

  #write(kind: Leaf, markdown: string, startsMayMean = true, isOneLine = false): void {
    const { table } = this
    if (table !== undefined && table.state !== 'layout') table.add(markdown)
    else this.writer.leaf(kind, startsMayMean ? escapeStarts(markdown, isOneLine) : markdown, false, isOneLine)
  }

  /** Writes the open heading, even an empty one, because it is part of the page's outline. */
  endHeading(): void {
    const level = this.heading
    if (level === 0) return
    const text = this.takeLine()
    this.heading = 0
    const { isOneLine, lastUnit } = this.line
    const line = isOneLine || !holds(text, '\n') ? text : text.replaceAll('  \n', ' ')
    const mayEndInHash = lastUnit < 0 || lastUnit === NUMBER_SIGN
    if (this.footnotes !== undefined && this.table === undefined && NOTES_TITLE.test(line))
      this.writer.hold('heading', headingOf(level, line, mayEndInHash))
    else if (this.table?.state !== 'data') this.writer.heading(headingOf(level, line, mayEndInHash), isOneLine)
    else if (line !== '') this.table.add(line)
  }

  /** Writes the blocks that a layout table buffered. */
  writeHeld(table: Table): void {
    for (const block of table.release()) this.#write('text', block)
  }

  /** Creates a table inside `outer`. */
  newTable(outer: Table | undefined, state: 'held' | 'layout'): Table {
    return new Table(this.writer, outer, state)
  }

  endTable(): void {
    const { table } = this
    if (table === undefined) return
    this.endCell(table)
    const blocks = table.end()
    this.table = table.outer
    for (const block of blocks) this.#write('text', block)
  }

  /** Ends the open cell of `table` and everything inside it. */
  endCell(table: Table): void {
    this.endHeading()
    if (table.state !== 'layout' || this.writer.isRaised) this.endBlock()
    if (table.inCell) this.line.closeDownTo(table.formats)
    if (table.floor !== undefined) this.writer.lower(table.floor)
    table.floor = undefined
    table.closeCell()
  }
}

const MAX_LEVEL = 6
const HEADING_MARKS = Array.from({ length: MAX_LEVEL + 1 }, (_, level) => `${'#'.repeat(level)} `)

function headingOf(level: number, text: string, mayEndInHash: boolean): string {
  if (text === '') return '#'.repeat(level)
  return (HEADING_MARKS[level] as string) + (mayEndInHash ? escapeTrailingHashes(text) : text)
}

/** Escapes a row of `#` at the end, which would be removed. CommonMark 0.31.2, 4.2. */
function escapeTrailingHashes(text: string): string {
  let at = text.length
  while (at > 0 && text.charCodeAt(at - 1) === NUMBER_SIGN) at--
  return at === text.length || (at > 0 && text.charCodeAt(at - 1) !== 0x20)
    ? text
    : `${text.slice(0, at)}\\${text.slice(at)}`
}
