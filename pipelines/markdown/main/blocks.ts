import { lengthOf } from '../characters.js'
import { CodeUnits } from '../code-units.js'
import type { Frame, Leaf } from '../writer.js'
import { HAS_BLOCKS, LINKS, LONG, TEXT } from './containers.js'
import { BlockMeasure } from './measure.js'
import { Rows, WIDTH } from './rows.js'

// The numbers in the row of a block.
/** The row of its container. */
export const PLACE = 0
/** The level of a heading, 0 of any other block. */
export const LEVEL = 1
/** Its text and links in characters without white space and addresses, and its words. */
export const BLOCK_TEXT = 2
export const BLOCK_LINKS = 3
export const WORDS = 4
/** Whether it is content, as far as that is decided. */
export const KEPT = 5
/** Whether its links have been rewritten. */
export const IS_FINAL = 6

const HASH = 0x23

/** Number of characters from which blocks are measured without the next one. */
const GROUP = 8192

const code = new CodeUnits()
const measure = new BlockMeasure()

/** Blocks of a page that are not chosen yet. */
export class Blocks {
  readonly rows = new Rows()
  readonly kinds: Leaf[] = []
  readonly contents: string[] = []
  /** Open frames around each. */
  readonly frames: Frame[][] = []

  /** Lines that were added to blocks. They do not count for the measures. */
  readonly added = new Map<number, string>()

  add(kind: Leaf, contents: string, isFinal: boolean, frames: Frame[], place: number): void {
    const row = this.rows.add()
    this.rows.values[row + PLACE] = place
    this.rows.values[row + LEVEL] = kind === 'heading' ? 1 : 0
    this.rows.values[row + IS_FINAL] = isFinal ? 1 : 0
    this.kinds.push(kind)
    this.contents.push(contents)
    this.frames.push(frames)
  }

  /** Adds a line to the last block. Returns false without any block. */
  more(line: string): boolean {
    const last = this.contents.length - 1
    if (last < 0) return false
    this.added.set(last, `${this.added.get(last) ?? ''}\n${line}`)
    return true
  }

  clear(): void {
    this.rows.end = 0
    this.added.clear()
    this.kinds.length = this.contents.length = this.frames.length = 0
  }

  /** Measures all blocks, and adds the measures to those of their containers. */
  measure(containers: Int32Array): void {
    const { contents } = this
    const { length } = contents
    for (let first = 0, next = 0; first < length; first = next) {
      // Several together, since each call to copy a text takes as long as many characters; few, since memory for long texts
      // is slow to get.
      let size = 0
      do size += lengthOf(contents[next++] as string)
      while (next < length && size < GROUP)
      this.#measure(first, next, code.fill(contents.slice(first, next).join('\0')), containers)
    }
  }

  /** Measures the blocks from `first` to `next`, whose code units, with a 0 after each, these are. */
  #measure(first: number, next: number, units: Uint16Array, containers: Int32Array): void {
    const { contents } = this
    const { values } = this.rows
    let start = 0
    for (let at = first, row = first * WIDTH; at < next; at++, row += WIDTH) {
      if (values[row + LEVEL] === 1) values[row + LEVEL] = levelOf(units, start)
      const end = start + lengthOf(contents[at] as string)
      measure.read(units, start, end)
      start = end + 1
      const { text, links } = measure
      values[row + BLOCK_TEXT] = text
      values[row + BLOCK_LINKS] = links
      values[row + WORDS] = measure.words
      const place = values[row + PLACE] as number
      containers[place + TEXT]! += text
      containers[place + LINKS]! += links
      if (isLong(text, links)) containers[place + LONG]! += text
      containers[place + HAS_BLOCKS] = 1
    }
  }

  kindOf(row: number): Leaf {
    return this.kinds[row / WIDTH] as Leaf
  }

  markdownOf(row: number): string {
    const at = row / WIDTH
    const markdown = this.contents[at] as string
    return this.added.size === 0 ? markdown : markdown + (this.added.get(at) ?? '')
  }

  /** Returns the text of a heading without its marks. */
  titleOf(row: number): string {
    return this.markdownOf(row)
      .slice(0, 200)
      .replace(/^#+ */, '')
      .replace(/[[\]*_\\]/g, '')
  }
}

/** Returns the level of the heading that begins at `start`. */
function levelOf(units: Uint16Array, start: number): number {
  let at = start
  while (units[at] === HASH) at++
  return at - start
}

/** Returns whether a block is text of some length that is not links. */
export const isLong = (text: number, links: number): boolean => text > 60 && links < 0.3 * text
