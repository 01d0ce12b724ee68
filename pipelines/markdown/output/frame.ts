/** A block that is written as one piece. `text` has no element of its own, as in `<li>text</li>`. */
export type Leaf = 'text' | 'paragraph' | 'heading' | 'fence' | 'rule' | 'table' | 'term' | 'detail' | 'html' | 'empty'

/** The last thing inside a frame. */
export type Child = Leaf | 'quote' | 'list' | 'item' | ''

/** An open list, list item or quote. */
export interface Frame {
  type: 'page' | 'quote' | 'list' | 'item'
  /** It has been written, if only its marker. */
  written: boolean
  /** Whether blocks of its contents are buffered until their form is decided. */
  pending: boolean
  /** Prefix of each further line of its contents. */
  prefix: string
  /** The last thing inside it. */
  last: Child
  /** For a list, whether blank lines are between its items. */
  loose: boolean
  ordered: boolean
  /** For a list, whether it was begun by an item outside of any list. */
  implied: boolean
  /** For a list, the number of its next item. For an item, its number. */
  number: number
  /**
   * For a list, its bullet or the character after its numbers. For any other frame, the marker of the last list inside
   * it.
   */
  marker: string
  /** For a quote, the line that makes it an alert. For an item, the marker of a footnote. */
  head: string
}

/** Returns a frame that has no contents. */
export const frame = (type: Frame['type'], ordered = false, number = 1, implied = false): Frame => ({
  type,
  written: false,
  pending: false,
  prefix: '',
  last: '',
  loose: false,
  ordered,
  implied,
  number,
  marker: '',
  head: '',
})

/** Creates lists and items in the memory of those that ended. */
export class NewFrames {
  readonly #ended: Frame[] = []

  create(type: 'list' | 'item', ordered = false, number = 1, implied = false): Frame {
    const open = this.#ended.pop()
    if (open === undefined) return frame(type, ordered, number, implied)
    open.type = type
    open.written = open.pending = open.loose = false
    open.prefix = open.last = open.marker = open.head = ''
    open.ordered = ordered
    open.implied = implied
    open.number = number
    return open
  }

  /** Nothing may refer to the frame any more. */
  ended(open: Frame): void {
    this.#ended.push(open)
  }
}

const SPACES = Array.from({ length: 16 }, (_, length) => ' '.repeat(length))

/** Returns this many spaces. */
export const spaces = (length: number): string => SPACES[length] ?? ' '.repeat(length)

/** Blocks that end the first line of an alert, so that they may follow on the next line. */
export const AFTER_ALERT: ReadonlySet<Child> = new Set<Child>([
  'text',
  'paragraph',
  'heading',
  'fence',
  'quote',
  'list',
])

/** Returns what an open frame is for the frame around it. */
export const typeOf = (open: Frame): Child => (open.type === 'page' ? '' : open.type)

/** Returns whether a block of a definition list follows the last one without a blank line, as details after a term. */
export const isDetail = (last: Child, leaf: Leaf): boolean =>
  leaf === 'detail' && (last === 'term' || last === 'detail')

/**
 * Whether two blocks of a list item can do without a blank line between them, which would make paragraphs of the text
 * of all items. CommonMark 0.31.2, 5.3.
 */
export function staysTight(last: Child, child: Child, leaf: Leaf, list: Frame | undefined, number = 1): boolean {
  switch (child) {
    case 'text':
      return last === 'heading' || last === 'fence' || last === 'rule'
    case 'list':
      // After text, only a list that begins with 1 and an item that is not empty is read as one.
      if (last === 'text') return leaf !== 'empty' && (list?.ordered !== true || number === 1)
      return last === 'heading' || last === 'fence' || last === 'rule' || last === 'quote' || last === 'list'
    case 'quote':
      return last === 'text' || last === 'heading' || last === 'fence' || last === 'rule' || last === 'list'
    case 'heading':
    case 'fence':
    case 'rule':
      return last !== 'paragraph' && last !== 'table' && last !== 'term' && last !== 'detail' && last !== 'html'
    case 'html':
      return last === 'text'
    default:
      return false
  }
}
