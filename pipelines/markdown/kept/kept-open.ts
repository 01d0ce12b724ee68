import { words } from '../elements/element.js'
import type { HtmlWriter, OpenElement } from './html-writer.js'

/** Elements that continue after the element around them has ended. WHATWG HTML, 13.2.4.3, "formatting". */
const CONTINUED: ReadonlySet<string> = new Set(words('a b big code em font i nobr s small strike strong tt u'))

/** Maximum number of elements that are followed. */
const MAX_ELEMENTS = 32

/** Maximum number of characters that are written for elements that continue. */
const MAX_WRITTEN = 64 * 1024

interface Entry {
  readonly name: string
  readonly tag: string
  readonly inParagraph: boolean
  /** The element, if it has been opened again outside of paragraphs. */
  element: OpenElement | undefined
}

/**
 * Elements of paragraphs that have no end tag so far. Browsers open them again in the following paragraphs. Outside of
 * paragraphs they are written as HTML, even around white space, because they are visible around text.
 */
export class LeftOpen {
  readonly #html: HtmlWriter
  readonly #entries: Entry[] = []
  #isReopened = false
  #written = 0

  constructor(html: HtmlWriter) {
    this.#html = html
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** Whether a link that begins in a paragraph is open. */
  get hasLink(): boolean {
    return this.#entries.some(({ name, inParagraph }) => name === 'a' && inParagraph)
  }

  /** Adds an element that begins as Markdown. */
  add(name: string, tag: string, inParagraph: boolean): void {
    if (CONTINUED.has(name) && this.#entries.length < MAX_ELEMENTS)
      this.#entries.push({ name, tag, inParagraph, element: undefined })
  }

  /** Ends the last element of that name. Returns whether it was open. */
  remove(name: string): boolean {
    const at = this.#entries.findLastIndex((entry) => entry.name === name)
    if (at < 0) return false
    const [entry] = this.#entries.splice(at, 1)
    if (entry?.element !== undefined) this.#html.closeElement(entry.element)
    return true
  }

  /** Opens all elements again outside of paragraphs, unless they are open there. */
  reopen(): void {
    if (this.#isReopened || this.#entries.length === 0) return
    for (const entry of this.#entries) {
      this.#written += entry.tag.length
      if (this.#written > MAX_WRITTEN) {
        this.#entries.length = 0
        return
      }
      this.#html.inline('')
      entry.element = this.#html.openElement(entry.name, entry.tag, 'inline')
    }
    this.#isReopened = true
  }

  /** Ends the elements that `reopen` has opened, because a block begins. */
  end(): void {
    if (!this.#isReopened) return
    this.#isReopened = false
    for (const entry of this.#entries.toReversed()) {
      if (entry.element !== undefined) this.#html.closeElement(entry.element)
      entry.element = undefined
    }
  }
}
