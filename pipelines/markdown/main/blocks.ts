import { codeAt, lengthOf } from '../text/characters.js'
import type { Frame, Leaf } from '../output/frame.js'
import { Rows, WIDTH } from './rows.js'

// The numbers in the row of a block.
/** The row of its container. */
export const PLACE = 0
/** The level of a heading, 0 of any other block. */
export const LEVEL = 1
/** Characters of its text, and characters of text in links, without addresses. */
export const BLOCK_TEXT = 2
export const BLOCK_LINKS = 3
/** Whether it is content, as far as that is decided. */
export const KEPT = 4
/** Whether its links have been rewritten. */
export const IS_FINAL = 5

const HASH = 0x23

/** Maximum characters of a heading that are compared with titles. */
const MAX_TITLE = 64

/** Blocks of a page that are not chosen yet. */
export class Blocks {
  readonly rows = new Rows()
  readonly kinds: Leaf[] = []
  readonly contents: string[] = []
  /** Open frames around each. */
  readonly frames: Frame[][] = []

  /** Lines that were added to blocks. They do not count for the measures. */
  readonly added = new Map<number, string>()

  add(
    kind: Leaf,
    contents: string,
    isFinal: boolean,
    frames: Frame[],
    place: number,
    text: number,
    links: number,
  ): void {
    const row = this.rows.add()
    const { values } = this.rows
    values[row + PLACE] = place
    values[row + LEVEL] = kind === 'heading' ? levelOf(contents) : 0
    values[row + BLOCK_TEXT] = text
    values[row + BLOCK_LINKS] = links
    values[row + IS_FINAL] = isFinal ? 1 : 0
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

  kindOf(row: number): Leaf {
    return this.kinds[row / WIDTH] as Leaf
  }

  markdownOf(row: number): string {
    const at = row / WIDTH
    const markdown = this.contents[at] as string
    return this.added.size === 0 ? markdown : markdown + (this.added.get(at) ?? '')
  }

  /** Returns whether it is in a quote, which repeats the text of others. */
  isQuoted(row: number): boolean {
    return (this.frames[row / WIDTH] as Frame[]).some((open) => open.type === 'quote')
  }

  /** Returns whether it is in a list or a quote. */
  isInside(row: number): boolean {
    return (this.frames[row / WIDTH] as Frame[]).length > 1
  }

  /** Returns the text of a heading without its marks. */
  titleOf(row: number): string {
    const start = (this.rows.values[row + LEVEL] as number) + 1
    return this.markdownOf(row)
      .slice(start, start + MAX_TITLE)
      .replace(/[[\]*_\\]/g, '')
  }
}

/** Returns the level of a heading. */
function levelOf(contents: string): number {
  const length = lengthOf(contents)
  let at = 0
  while (at < length && codeAt(contents, at) === HASH) at++
  return at
}

/** Text of a block that is longer than a few words. */
const MIN_LONG = 75

/** Returns whether a block is text of some length that is not links. */
export const isLong = (text: number, links: number): boolean => text > MIN_LONG && links < 0.3 * text
