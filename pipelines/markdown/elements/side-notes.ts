import { attributeBits } from '../text/names.js'
import type { Skip, Tag } from '../text/events.js'
import { CONTAINERS, type Aside, type ElementPage } from './element.js'
import { MARK_TEXT } from './notes.js'

/** Classes of a note that is written where its mark is. A page displays the note in the margin. */
const SIDE_NOTE = /(?:^|\s)(?:side|margin)-?notes?(?:-?(?:content|text|body))?(?=\s|$)/i

/** Classes of the number before such a note, which is the label of a box that shows the note on phones. */
const TOGGLE = /(?:^|\s)(?:margin-?toggle|(?:side|margin)-?note-?(?:number|toggle)|foot-?(?:note-?)?ref)(?=\s|$)/i

const CLASS_BIT = attributeBits('class')

/** Returns whether a tag begins a note in the margin. A note without text before it is a part of its own. */
export const isSideNote = (page: ElementPage, tag: Tag): boolean =>
  tag.attributeIncludes('class', 'note') &&
  page.readsNotes &&
  !page.line.isEmpty &&
  !page.line.inLink &&
  !page.line.inCode &&
  page.heading === 0 &&
  SIDE_NOTE.test(tag.attribute('class') ?? '')

/** Begins the label of a note in the margin. Returns whether it did. */
export function beginToggle(page: ElementPage, tag: Tag): boolean {
  if ((tag.attributeBits & CLASS_BIT) === 0 || !page.readsNotes || page.aside !== undefined) return false
  if (!TOGGLE.test(tag.attribute('class') ?? '')) return false
  page.aside = new Toggle()
  return true
}

/** Text of a label that is the number or the symbol of a note. */
const SYMBOL = /^(?:[\s\u2190-\u21ff\u2295-\u22a1+]|\ufe0e|\ufe0f)*$/u

/** The label before a note in the margin, which is dropped if it is only the number of the note. */
class Toggle implements Aside {
  #text = ''

  text(text: string): void {
    this.#text += text
  }

  endsAt(name: string): boolean {
    return name === 'label' || CONTAINERS.has(name)
  }

  end(page: ElementPage): void {
    if (SYMBOL.test(this.#text) || MARK_TEXT.test(this.#text)) return
    page.line.space()
    page.line.text(this.#text)
  }

  enter(tag: Tag): Skip | void {
    return tag.name === 'svg' ? 'skip' : undefined
  }
}

/** Follows the elements in a note in the margin, to find its end. */
export class SideNote {
  readonly name: string
  /** Number of open elements inside, by name. */
  readonly #open = new Map<string, number>()
  #isFresh = true

  constructor(name: string) {
    this.name = name
  }

  /** Follows a start tag. Returns false if the element is not a note, but contains one and its label. */
  opened(name: string): boolean {
    if (this.#isFresh && name === 'label') return false
    this.#isFresh = false
    if (name === this.name || CONTAINERS.has(name)) this.#open.set(name, (this.#open.get(name) ?? 0) + 1)
    return true
  }

  /** Follows an end tag. Returns whether it ends the note. */
  closes(name: string): boolean {
    if (name !== this.name && !CONTAINERS.has(name)) return false
    const open = this.#open.get(name) ?? 0
    if (open === 0) return true
    this.#open.set(name, open - 1)
    return false
  }
}
