import type { Skip, Tag } from '../text/events.js'
import type { Addresses } from '../text/address.js'
import type { Callout } from '../output/callout.js'
import type { Footnotes } from './notes.js'
import type { Line } from '../output/line.js'
import type { Table } from '../output/table.js'
import type { Leaf } from '../output/frame.js'
import type { Writer } from '../output/writer.js'

/** An element whose text is collected instead of written directly. */
export interface Aside {
  text(text: string): void
  /** Returns whether the end tag of this name ends the element. */
  endsAt(name: string): boolean
  end(page: ElementPage): void
  /** Handles the start of an element inside. `skip` drops it with its contents. */
  enter?(tag: Tag): Skip | void
  /** Whether elements inside have no meaning. */
  readonly isClosed?: boolean
}

/** The members of the page that elements read and change. */
export interface ElementPage {
  readonly line: Line
  readonly writer: Writer
  readonly addresses: Addresses
  /** The type of leaf that the open block is written as. */
  kind: Leaf
  /** The level of the open heading, or 0. */
  heading: number
  /** The innermost open table. */
  table: Table | undefined
  /** Number of open tables that are written as text only. */
  deepTables: number
  /** Number of open `article`, `main` and `section` elements. */
  sections: number
  /** Number of open `figure` elements. */
  figures: number
  /** The program language that an element around the next `pre` names. */
  language: string | undefined
  /** The source that the open `picture` offers. */
  picture: string | undefined
  /**
   * Description of the last image of the block if the image has no address. A script adds the address, or a `noscript`
   * has it.
   */
  missingImage: string | undefined
  /** Number of start tags so far, and that number at the start tag of the last list item. */
  readonly opened: number
  openedAtItem: number
  /** Receives text that is not part of the line, until an end tag ends it. */
  aside: Aside | undefined
  /** Inside the reading of a ruby text. */
  reading: boolean
  /** Names the formula that was written last, if the page has it in another form as well. */
  formula: string | undefined

  /** Whether marks of notes become footnotes, and frames with a kind become alerts. */
  readonly readsNotes: boolean
  readonly readsCallouts: boolean
  /** Whether a formula is written between dollar signs. If not, its TeX is a code span. */
  readonly writesTex: boolean
  /** The notes of the page. Undefined before the first mark. */
  footnotes: Footnotes | undefined
  /** Whether a note is open. */
  readonly inNote: boolean
  /** The callout that is open and has no contents yet. */
  callout: Callout | undefined

  /** Begins a block that a paragraph, link or heading cannot contain. Returns false if it must be text of a table cell. */
  beginBlock(): boolean
  /** Marks the start or end of a block. Inside a heading or a link this is only white space. */
  boundary(): void
  /** Writes the open block unless it is empty. */
  endBlock(): void
  /** Writes the open heading, even an empty one, because it is part of the outline of the page. */
  endHeading(): void
  /** Writes the blocks that a layout table buffered. */
  writeHeld(table: Table): void
  /** Creates a table inside `outer`. */
  newTable(outer: Table | undefined, state: 'held' | 'layout'): Table
  endTable(): void
  /** Ends the open cell of `table` and everything inside it. */
  endCell(table: Table): void
  beginPreformatted(tag: Tag): void
  endAside(): void
  /** Begins to collect a note in the margin, which is written at the end of the page. */
  beginSideNote(tag: Tag): void
  /** Begins to collect the contents of a `noscript`. Returns `skip` if it cannot be content. */
  beginNoscript(): Skip | void
  /** Marks that the element opened last has a declarative shadow root, so the element and the root are blocks. */
  beginShadowRoot(): void
}

/** Handlers of an element without a meaning of its own that has the role of another one. */
export interface Role {
  open(this: void, page: ElementPage, tag: Tag): void
  close?(this: void, page: ElementPage, name: string): void
}

/** Handlers of a family of elements. A tag without a family is dropped, but not its contents. */
export interface Family {
  readonly names: readonly string[]
  /** Handles the start tag. `skip` drops the element with its contents. */
  open?(this: void, page: ElementPage, tag: Tag): Skip | void
  /** Whether its end tag only ends the part of the line that its start tag opened. */
  readonly isFormat?: boolean
  /** Handles the end tag, even without a start tag. */
  close?(this: void, page: ElementPage, name: string): void
}

/** Returns the names in a text. */
export const words = (text: string): string[] => text.trim().split(/\s+/)

/** Elements whose end tag ends everything inside them, even elements without end tag. */
export const CONTAINERS: ReadonlySet<string> = new Set(
  words(`div p td th tr table li ul ol dl dd blockquote section article main aside details figure body html`),
)
