import { lengthOf, part } from '../characters.js'
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
/** Where it begins in the text of all blocks. */
const START = 7

const HASH = 0x23

const code = new CodeUnits()
const measure = new BlockMeasure()

/** Blocks of a page that are not chosen yet. */
export class Blocks {
  readonly rows = new Rows()
  /** After `measure`, the text of all. */
  #all = ''
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
    this.#all = ''
    this.added.clear()
    this.kinds.length = this.contents.length = this.frames.length = 0
  }

  /** Measures all blocks, and adds the measures to those of their containers. */
  measure(containers: Int32Array): void {
    const { contents } = this
    const { values } = this.rows
    // Together: each call to copy a text takes as long as many characters, and parts of flat text are written faster.
    this.#all = contents.join('\0')
    const units = code.fill(this.#all)
    let start = 0
    for (let at = 0, row = 0; at < contents.length; at++, row += WIDTH) {
      const end = start + lengthOf(contents[at] as string)
      values[row + START] = start
      if (values[row + LEVEL] === 1) values[row + LEVEL] = levelOf(units, start)
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

  /** Returns the Markdown of a block that was measured. */
  markdownOf(row: number): string {
    const at = row / WIDTH
    const start = this.rows.values[row + START] as number
    const markdown = part(this.#all, start, start + lengthOf(this.contents[at] as string))
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
