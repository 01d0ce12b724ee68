import type { Tag } from '../text/events.js'
import { KNOWN_NAMES } from '../text/names.js'
import { isLong } from './blocks.js'
import { Rows, WIDTH } from './rows.js'
import { IS_HIDDEN, IS_REPEATED, IS_SURE, signOf, traitsOf } from './traits.js'

/** Maximum depth of containers that are followed. Contents of deeper ones count for the last. */
const MAX_DEPTH = 64

/** Maximum number of elements in which an end tag searches for its element. */
const MAX_LOOK = 40

// The numbers in the row of a container.
/** Row of the container around this one. The row of the page contains itself here. */
export const PARENT = 0
/** The bits of traits.ts. */
export const TRAITS = 1
/** Traits of the container and all containers around it. */
export const WITHIN = 2
/** Amount of text, in characters without white space. */
export const TEXT = 3
/** Characters of the text in links. */
export const LINKS = 4
/** Characters of the text in blocks that are longer than a few words and not links. */
export const LONG = 5
/** Number of blocks since the last choice. */
export const BLOCKS = 6
/** Result of a pass over the containers. */
export const VERDICT = 7
/** Sign of its element, which is equal for elements of one name and classes. */
export const SIGN = 8
/** Number of blocks that are links. A title that leads to another page is one. */
export const LEADS = 9
/** Characters of the long text in it that is content, as far as that is decided. */
export const PROSE = 10

/** Minimum share of links in the text of a block that is a link. */
const MIN_LEAD = 0.8

const OPEN_BITS = 16
const OPEN_TRAITS = (1 << OPEN_BITS) - 1

/**
 * Elements around blocks. An open element gets a row only after its first block, because most elements have none. A row
 * comes before the rows of the elements inside it.
 */
export class Containers {
  readonly rows = new Rows()
  /**
   * Open elements, from the outside, the page first. Each has the position of its name in the table, and its traits.
   */
  readonly #open: number[] = [KNOWN_NAMES << OPEN_BITS]
  readonly #signs: number[] = [0]
  /** Their rows, as far as they have one. */
  readonly #rowOf: number[] = [0]
  /** The innermost one, and the innermost one that has a row. */
  #last = 0
  #lastRow = 0

  constructor() {
    this.rows.values.fill(0, 0, WIDTH)
    this.rows.add()
  }

  /** Follows the start tag of an element, which may have further traits. */
  open(tag: Tag, further = 0): void {
    const last = this.#last
    const traits = last < MAX_DEPTH ? traitsOf(tag) | further : 0
    if (last < MAX_DEPTH) this.#push(last + 1, (tag.id << OPEN_BITS) | traits, signOf(tag))
    else this.#endAfter(last)
  }

  /** Follows an end tag, by the position of its name in the table of names. */
  close(id: number): void {
    const open = this.#open
    const last = this.#last
    for (let at = last; at > 0 && at > last - MAX_LOOK; at--)
      if ((open[at] as number) >> OPEN_BITS === id) {
        this.#endAfter(at - 1)
        return
      }
  }

  /** Begins a container that is content anywhere in the page. `endSure` ends it. */
  beginSure(): void {
    this.#push(this.#last + 1, (KNOWN_NAMES << OPEN_BITS) | IS_SURE, 0)
  }

  endSure(): void {
    this.#endAfter(this.#last - 1)
  }

  #push(last: number, open: number, sign: number): void {
    this.#open[last] = open
    this.#signs[last] = sign
    this.#last = last
    if (this.#lastRow >= last) this.#lastRow = last - 1
  }

  #endAfter(last: number): void {
    this.#last = last
    if (this.#lastRow > last) this.#lastRow = last
  }

  /** Returns whether an open element has a trait. */
  isIn(trait: number): boolean {
    for (let at = this.#last; at > 0; at--) if (((this.#open[at] as number) & trait) !== 0) return true
    return false
  }

  /** Returns the row of the innermost open container. */
  row(): number {
    while (this.#lastRow < this.#last) this.#addRow(++this.#lastRow)
    return this.#rowOf[this.#last] as number
  }

  #addRow(at: number): void {
    const row = this.rows.add()
    const { values } = this.rows
    const parent = this.#rowOf[at - 1] as number
    const traits = (this.#open[at] as number) & OPEN_TRAITS
    values[row + PARENT] = parent
    values[row + TRAITS] = traits
    values[row + WITHIN] = traits | (values[parent + WITHIN] as number)
    values[row + SIGN] = this.#signs[at] as number
    values[row + TEXT] = values[row + LINKS] = values[row + LONG] = values[row + BLOCKS] = values[row + LEADS] = 0
    this.#rowOf[at] = row
  }

  /** Adds a block to the container in a row. */
  addBlock(row: number, text: number, links: number): void {
    const { values } = this.rows
    values[row + BLOCKS]!++
    if (((values[row + WITHIN] as number) & IS_HIDDEN) !== 0) return
    values[row + TEXT]! += text
    values[row + LINKS]! += links
    if (isLong(text, links)) values[row + LONG]! += text
    else if (links > 0 && links >= MIN_LEAD * text) values[row + LEADS]!++
  }

  /** Adds the measures of each container to the one around it. */
  addUp(): void {
    const { values, end } = this.rows
    for (let row = end - WIDTH; row > 0; row -= WIDTH) {
      const parent = values[row + PARENT] as number
      values[parent + TEXT]! += values[row + TEXT] as number
      values[parent + LINKS]! += values[row + LINKS] as number
      values[parent + LONG]! += values[row + LONG] as number
      values[parent + LEADS]! += values[row + LEADS] as number
      values[parent + BLOCKS]! += values[row + BLOCKS] as number
    }
  }

  /** Removes the rows of containers that have ended, and subtracts the sums that `addUp` has added from open ones. */
  dropEnded(): void {
    const { values } = this.rows
    for (let at = 0; at <= this.#lastRow; at++) {
      const row = at * WIDTH
      values.copyWithin(row, this.#rowOf[at] as number, (this.#rowOf[at] as number) + WIDTH)
      this.#rowOf[at] = row
      values[row + BLOCKS] = 0
      values[row + TRAITS]! &= ~IS_REPEATED
      if (at === 0) continue
      const parent = row - WIDTH
      values[row + PARENT] = parent
      values[parent + TEXT]! -= values[row + TEXT] as number
      values[parent + LINKS]! -= values[row + LINKS] as number
      values[parent + LONG]! -= values[row + LONG] as number
      values[parent + LEADS]! -= values[row + LEADS] as number
    }
    this.rows.end = (this.#lastRow + 1) * WIDTH
  }
}
