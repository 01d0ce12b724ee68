import { escapeStarts } from '../output/escape.js'
import type { HtmlWriter, OpenElement } from './html-writer.js'
import { Table, type CellTag } from '../output/table.js'

/** Markdown that is the same as HTML, which is text without marks. */
const PLAIN = /^[^\\`*_~<>&[\]!\n]+$/

/** A row or cell and its start tag. */
interface Part {
  readonly tag: string
  readonly name: string
}

interface HeldCell extends Part {
  readonly blocks: string[]
}

interface HeldRow extends Part {
  readonly cells: HeldCell[]
}

const PLAIN_ROW: Part = { name: 'tr', tag: '<tr>' }

/** A table that stays HTML if it is for layout. A data table becomes Markdown like any other. */
export class KeptTable extends Table {
  /** The start tag that will open a row or a cell. */
  next: Part = PLAIN_ROW

  readonly #html: HtmlWriter
  readonly #tag: string
  readonly #element: OpenElement
  #row: OpenElement | undefined
  #cell: OpenElement | undefined
  /** Buffered contents, before the purpose of the table is known. */
  #caption: string[] = []
  #rows: HeldRow[] = []

  /** `tag` is its start tag. */
  constructor(html: HtmlWriter, outer: Table | undefined, state: 'held' | 'layout', tag: string) {
    super(html, outer, state)
    this.#html = html
    this.#tag = tag
    this.#element = html.openSilent('table', 'cell') as OpenElement
    if (state === 'layout') html.speak(this.#element, tag)
  }

  override openRow(): void {
    super.openRow()
    const part = this.next.name === 'tr' ? this.next : PLAIN_ROW
    this.#row = this.#open(part)
    if (this.state === 'held') this.#rows.push({ ...part, cells: [] })
  }

  override openCell(tag: CellTag): void {
    super.openCell(tag)
    const part = this.next
    this.#cell = this.#open(part)
    if (this.state === 'held') this.#rows.at(-1)?.cells.push({ ...part, blocks: [] })
  }

  #open({ name, tag }: Part): OpenElement {
    const element = this.#html.openSilent(name, 'cell') as OpenElement
    if (this.state === 'layout') this.#html.speak(element, tag)
    return element
  }

  override add(markdown: string): void {
    super.add(markdown)
    if (this.state !== 'held') return
    const blocks = this.inCell ? this.#rows.at(-1)?.cells.at(-1)?.blocks : this.#caption
    blocks?.push(markdown)
  }

  override closeCell(): void {
    super.closeCell()
    this.#cell = this.#close(this.#cell)
  }

  override closeRow(): void {
    super.closeRow()
    this.#row = this.#close(this.#row)
    if (this.state === 'data') this.#rows = []
  }

  #close(element: OpenElement | undefined): undefined {
    if (element !== undefined) this.#html.closeElement(element)
    return undefined
  }

  override end(): string[] {
    super.end()
    this.#close(this.#element)
    return []
  }

  override release(): string[] {
    super.release()
    if (this.state === 'layout' && !this.#element.written) this.#writeHeld()
    return []
  }

  /** Writes the buffered contents. The open row and cell stay open. */
  #writeHeld(): void {
    const html = this.#html
    html.speak(this.#element, this.#tag)
    if (this.#caption.length > 0) this.#writePart({ name: 'caption', tag: '<caption>' }, this.#caption)
    for (const [index, { tag, cells }] of this.#rows.entries()) {
      const row = index === this.#rows.length - 1 ? this.#row : undefined
      if (row === undefined) html.line(tag)
      else html.speak(row, tag)
      for (const [at, cell] of cells.entries()) {
        const open = row !== undefined && at === cells.length - 1 ? this.#cell : undefined
        this.#writePart(cell, cell.blocks, open)
      }
      if (row === undefined) html.line('</tr>')
    }
    this.#rows = []
    this.#caption = []
  }

  #writePart({ name, tag }: Part, blocks: readonly string[], open?: OpenElement): void {
    const html = this.#html
    if (open === undefined) html.line(tag)
    else html.speak(open, tag)
    const [first = ''] = blocks
    if (blocks.length === 1 && PLAIN.test(first)) html.inline(first)
    else for (const block of blocks) html.leaf('text', escapeStarts(block))
    if (open === undefined) html.line(`</${name}>`)
  }
}
