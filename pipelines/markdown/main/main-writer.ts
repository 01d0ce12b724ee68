import { lengthOf } from '../text/characters.js'
import type { Frame, Leaf } from '../output/frame.js'
import { Writer } from '../output/writer.js'
import { Blocks, IS_FINAL, isLong, KEPT } from './blocks.js'
import { MainContent } from './choose.js'
import { Containers } from './containers.js'
import { joinLooseNotes } from './loose-notes.js'
import { BlockMeasure } from './measure.js'
import { WIDTH } from './rows.js'
import { Shop } from './shop.js'

/** Maximum Markdown of a page that is buffered before its content is chosen, in characters. */
export const MAX_BUFFERED = 64 * 1024

/** Maximum number of blocks, and of elements around them. A page of short blocks takes memory and time for each. */
const MAX_ROWS = 16 * 1024

const measure = new BlockMeasure()

/** Buffers blocks and writes the blocks of the main content. */
export class MainWriter extends Writer {
  readonly containers = new Containers()
  readonly shop = new Shop()
  /** Whether the page has marks of notes, and whether it has text above the line. */
  hasMarks = false
  hasSuperscripts = false
  /** Labels of the notes whose marks are in the content. */
  readonly #notes = new Set<string>()
  /** Whether a block of some length was written. */
  hasLong = false
  readonly #content = new MainContent()
  readonly #blocks = new Blocks()
  #buffered = 0
  /** Measures of the block that is written next, -1 if they are not known. */
  #text = -1
  #links = 0
  protected override readonly sharesFrames = true
  /** The open frames around the block that was buffered last. */
  #around: Frame[] = []
  /** Whether nothing is buffered any more, because the page has ended. */
  #isDirect = false
  /** Whether the last block was written, for lines that are added to it. */
  #wroteLast = true

  /** Sets the measures of the next block. */
  measured(text: number, links: number): void {
    this.#text = text
    this.#links = links
  }

  override get length(): number {
    return super.length + this.#buffered
  }

  override leaf(kind: Leaf, contents: string, isFinal = false): void {
    if (this.#isDirect) return super.leaf(kind, contents, isFinal)
    // An item without contents is not content.
    if (kind === 'empty') return
    let text = this.#text
    let links = this.#links
    this.#text = -1
    if (this.isHolding) this.releaseHeld()
    if (text < 0) {
      measure.of(kind, contents)
      ;({ text, links } = measure)
    }
    this.hasLong ||= isLong(text, links)
    if (this.frames.length > 1) this.leaveList()
    const place = this.containers.row()
    this.containers.addBlock(place, text, links)
    this.#blocks.add(kind, contents, isFinal, this.#framesAround(), place, text, links)
    this.#count(lengthOf(contents))
  }

  /** Returns the open frames, which later blocks share. A frame that ends is not opened again. */
  #framesAround(): Frame[] {
    const { frames } = this
    const { length } = frames
    if (this.#around.length !== length || this.#around[length - 1] !== frames[length - 1]) {
      this.#around = frames.slice()
      for (const frame of frames) frame.pending = true
    }
    return this.#around
  }

  override more(line: string): void {
    if (this.#blocks.more(line)) this.#count(line.length)
    else if (this.#wroteLast) super.more(line)
  }

  #count(length: number): void {
    this.#buffered += length
    const rows = Math.max(this.#blocks.rows.end, this.containers.rows.end) / WIDTH
    if (this.#buffered > MAX_BUFFERED || rows > MAX_ROWS) this.#decide()
  }

  /** Returns whether a mark of the note with this label is in the content. */
  usesNote(label: string): boolean {
    return this.#notes.has(label)
  }

  #collectNotes(markdown: string): void {
    if (this.hasMarks && markdown.includes('[^'))
      for (const [, label] of markdown.matchAll(/\[\^(\w{1,20})\]/g)) this.#notes.add(label as string)
  }

  override end(): void {
    super.end()
    if (this.#isDirect) return
    this.#decide()
    this.writeAll()
  }

  /** Ends the choice. Further blocks are written immediately. */
  writeAll(): void {
    this.#isDirect = true
    this.#blocks.rows.release()
    this.containers.rows.release()
  }

  #decide(): void {
    const { containers } = this
    const blocks = this.#blocks
    this.#buffered = 0
    containers.addUp()
    const titles = this.hasSuperscripts && !this.hasMarks ? joinLooseNotes(blocks, containers) : undefined
    if (titles !== undefined) this.hasMarks = this.hasNotes = true
    this.#content.choose(blocks, containers, this.shop.sellsOne(blocks))
    containers.dropEnded()
    const { frames } = this
    const { values, end } = blocks.rows
    for (const row of titles ?? []) values[row + KEPT] = 0
    for (let at = 0, row = 0; row < end; at++, row += WIDTH) {
      const around = blocks.frames[at] as Frame[]
      const label = this.hasNotes ? labelIn(around) : undefined
      // A note belongs to the text that has its mark, whatever is around the note.
      this.#wroteLast = label === undefined ? values[row + KEPT] === 1 : this.#notes.has(label)
      if (!this.#wroteLast) continue
      this.frames = around
      const markdown = blocks.markdownOf(row)
      this.#collectNotes(markdown)
      super.leaf(blocks.kindOf(row), markdown, values[row + IS_FINAL] === 1)
    }
    this.frames = frames
    blocks.clear()
  }
}

/** Returns the label of the note that the open frames are part of. */
const labelIn = (frames: readonly Frame[]): string | undefined =>
  frames.find((open) => open.type === 'item' && open.head !== '')?.head.slice(2, -3)
