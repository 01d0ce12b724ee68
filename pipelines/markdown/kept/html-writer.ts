import { Writer } from '../output/writer.js'

/** Maximum depth of elements whose tags are written. Of deeper ones only the contents are. */
const MAX_OPEN = 128

/** Maximum number of characters for line prefixes of HTML inside lists and quotes. */
const MAX_PREFIXES = 4 * 1024 * 1024

const COMMENT = '<!-- -->'

/** An element whose end tag has not arrived. */
export interface OpenElement {
  readonly name: string
  /** Whether its start tag is written. */
  written: boolean
  /** Number of lists, items and quotes that were open when it was opened. */
  depth: number
  readonly kind: 'block' | 'inline' | 'cell'
}

/**
 * Writes blocks of HTML between blocks of Markdown, and tracks which of their elements are open. Such a block begins
 * with a tag alone on its line, or with the tag of certain elements, and ends at a blank line (CommonMark 0.31.2, 4.6).
 * Text between two blank lines is Markdown, inside an element as well.
 *
 * An element ends at its end tag, or before the list item, the quote or the element around it does.
 */
export class HtmlWriter extends Writer {
  readonly #open: OpenElement[] = []
  /** Number of open elements beyond the limit. */
  #tooDeep = 0
  /** The last line continues. */
  #inLine = false
  /**
   * Whether the last block of HTML is a comment with the text after it on its line. The line ends it (CommonMark
   * 0.31.2, 4.6).
   */
  #isComment = false
  #gap = false
  #prefixes = 0
  /** Number of open definition lists. */
  #definitions = 0

  /** Returns whether more HTML is allowed. Otherwise the contents would end up in too deep a list. */
  get mayOpen(): boolean {
    return this.#definitions === 0 && this.#prefixes < MAX_PREFIXES
  }

  /** Writes a tag on a separate line. */
  line(tag: string): void {
    if (this.endsInHtml) this.#newLine(tag)
    else this.leaf('html', tag)
    this.#isComment = false
    this.breakLine()
  }

  /** Writes text or a tag to the open line, or to the next one. If no HTML precedes it, it follows an empty comment. */
  inline(html: string): void {
    if (!this.endsInHtml) {
      this.leaf('html', COMMENT + html)
      this.#isComment = true
    } else if (this.#inLine) this.extend(this.#gap ? ' ' + html : html)
    else this.#newLine(this.#isComment ? COMMENT + html : html)
    this.#inLine = true
    this.#gap = false
  }

  /** Writes white space, as between two words. */
  space(): void {
    this.#gap = this.#inLine
  }

  /** Begins a new line. */
  breakLine(): void {
    this.#inLine = this.#gap = false
  }

  #newLine(html: string): void {
    this.#prefixes += this.prefix.length
    this.more(html)
  }

  /** Opens an element and writes its start tag. */
  openElement(name: string, tag: string, kind: OpenElement['kind']): OpenElement | undefined {
    if (!this.#makeRoom(kind)) return undefined
    if (kind === 'inline' && this.endsInHtml) this.inline(tag)
    else this.line(tag)
    return this.#push({ name, written: true, depth: this.depth, kind })
  }

  /** Opens an element whose tags are not written, so that its end tag does not end another one. */
  openSilent(name: string, kind: OpenElement['kind']): OpenElement | undefined {
    if (!this.#makeRoom(kind)) return undefined
    return this.#push({ name, written: false, depth: this.depth, kind })
  }

  /** Writes the start tag of a silent element after all. */
  speak(element: OpenElement, tag: string): void {
    this.line(tag)
    element.written = true
    element.depth = this.depth
    if (!this.#open.includes(element)) this.#push(element)
  }

  /** Returns whether another element fits. Nested tables are counted elsewhere, so their parts always fit. */
  #makeRoom(kind: OpenElement['kind']): boolean {
    if (kind === 'cell' || this.#open.length < MAX_OPEN) return true
    if (kind === 'block') this.#tooDeep++
    return false
  }

  #push(element: OpenElement): OpenElement {
    this.#open.push(element)
    if (element.name === 'dl') this.#definitions++
    return element
  }

  /** Returns the innermost open element of that name. A cell of a table hides the elements around it. */
  find(name: string): OpenElement | undefined {
    for (let at = this.#open.length - 1; at >= 0; at--) {
      const element = this.#open[at] as OpenElement
      if (element.name === name) return element
      if (element.kind === 'cell') return undefined
    }
    return undefined
  }

  /** Handles the end tag of a block. Ends everything inside the block. */
  closeBlock(name: string): void {
    if (this.#tooDeep > 0) {
      this.#tooDeep--
      return
    }
    const element = this.find(name)
    if (element !== undefined) this.closeElement(element)
  }

  /** Ends an element, which may have ended already, and everything inside it. */
  closeElement(element: OpenElement): void {
    const at = this.#open.lastIndexOf(element)
    if (at < 0) return
    while (this.#open.length > at) this.#closeLast()
  }

  /** Returns whether the end tag of an inline element would end one, and no block or list item with it. */
  endsInline(name: string): boolean {
    return this.#inlineAt(name) >= 0
  }

  /** Handles the end tag of an inline element. It is written as in the page, and elements inside it stay open. */
  closeInline(name: string): void {
    const at = this.#inlineAt(name)
    if (at < 0) return
    const [element] = this.#open.splice(at, 1)
    this.#tooDeep = 0
    this.#endTag(element as OpenElement)
  }

  #inlineAt(name: string): number {
    for (let at = this.#open.length - 1; at >= 0; at--) {
      const element = this.#open[at] as OpenElement
      if (element.kind !== 'inline' || element.depth !== this.depth) return -1
      if (element.name === name) return at
    }
    return -1
  }

  #closeLast(): void {
    const element = this.#open.pop()
    if (element === undefined) return
    this.#tooDeep = 0
    if (element.name === 'dl') this.#definitions--
    if (element.written) this.leave(element.depth)
    this.#endTag(element)
  }

  #endTag({ name, written, kind }: OpenElement): void {
    if (!written) return
    const tag = `</${name}>`
    if (kind === 'inline' && this.endsInHtml) this.inline(tag)
    else this.line(tag)
  }

  /** Items without contents are retained. */
  override dropItem(): void {}

  protected override pop(): void {
    const depth = this.depth
    while ((this.#open.at(-1)?.depth ?? 0) >= depth) this.#closeLast()
    super.pop()
  }

  override end(): void {
    super.end()
    while (this.#open.length > 0) this.#closeLast()
  }
}
