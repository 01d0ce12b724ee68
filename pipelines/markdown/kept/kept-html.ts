import { isTiny } from '../elements/frames.js'
import { imageSource } from '../elements/late-images.js'
import { isHidden } from '../elements/left-out.js'
import type { Skip, Tag } from '../text/events.js'
import { HtmlWriter } from './html-writer.js'
import { keepingOf, type Keeping } from './kept-elements.js'
import { KeptTable } from './kept-table.js'
import { LeftOpen } from './kept-open.js'
import { HeldTag, htmlText, isTagName, startTag } from './kept-tags.js'
import { isVoid } from '../text/names.js'
import { Page } from '../page/page.js'
import type { Table } from '../output/table.js'
import { BLANK, SPACE_AFTER, SPACE_BEFORE } from '../text/text-traits.js'

/** Maximum depth of elements in one paragraph whose tags are written. */
const MAX_INLINE = 32

/** A first line with only a tag would begin a block of HTML, in which text is not read as Markdown. */
const TAG_ALONE = /^<[^>"]*(?:"[^"]*"[^>"]*)*>(?=\s*?(?:\n|$))/

/** Elements that have no meaning without attributes. */
const MUTE = new Set(['<font>', '<span>'])

/**
 * Returns whether the Markdown of the element would say less or more, as for an anchor or an image without a
 * description.
 */
const isLess = (tag: Tag): boolean =>
  (tag.name === 'a' && tag.attribute('href') === undefined) ||
  (tag.name === 'img' && tag.attribute('alt') === undefined)

/** An open element in a paragraph. */
interface Inline {
  readonly name: string
  readonly written: boolean
}

/**
 * A page whose Markdown renders to the same page. Content that Markdown cannot express is retained as HTML instead of
 * its text. Unknown elements stay in their paragraph. Containers stay around their contents, which are Markdown. Text
 * in such a container, or in the page, that has no paragraph around it would become a paragraph, so it is written as
 * HTML, after a tag if possible, otherwise after an empty comment.
 */
export class KeptHtml extends Page {
  readonly #html = this.writer as HtmlWriter
  /** The tag that is being read. */
  #tag = ''
  /**
   * An inline element outside a paragraph. The next event decides whether it is retained as HTML, since a block of HTML
   * begins with its tag only if the tag has a separate line.
   */
  #held: HeldTag | undefined
  /** Elements that are open in this paragraph. */
  #inline: Inline[] = []
  #tooDeep = 0
  readonly #left = new LeftOpen(this.#html)

  constructor(outer?: Page) {
    super(outer)
    this.readsNotes = this.readsCallouts = false
    this.line.keepsEmptyLinks = true
  }

  protected override readonly readsRoles = false

  protected override newPage(): Page {
    return new KeptHtml(this)
  }

  protected override newWriter(): HtmlWriter {
    return new HtmlWriter()
  }

  override open(tag: Tag): Skip | void {
    if (this.#readsText) return super.open(tag)
    const keeping = keepingOf(tag.name, tag.id)
    switch (keeping) {
      case 'as ever':
        this.#release()
        return super.open(tag)
      case 'block':
        this.#keep()
        this.#tag = tag.name === 'table' ? startTag(tag, this.addresses) : ''
        return super.open(tag)
      case 'cell':
        if (this.table instanceof KeptTable) this.table.next = { name: tag.name, tag: startTag(tag, this.addresses) }
        return super.open(tag)
      case 'container':
      case 'definitions':
        this.#keep()
        return this.#openContainer(tag, keeping)
      default:
        if (this.head === 'ended') return this.#openInline(tag, keeping)
        this.readHead(tag)
        return this.head === 'open' ? super.open(tag) : this.#openInline(tag, keeping)
    }
  }

  #openContainer(tag: Tag, keeping: Keeping): Skip | void {
    const { name } = tag
    const keeps = this.#mayContain && keeping === 'container'
    if (keeps && name === 'summary') {
      // Retained details need no summary before them.
      if (this.head !== 'ended') this.readHead(tag)
      if (isHidden(tag)) return 'skip'
      this.boundary()
    } else if (super.open(tag) === 'skip') return 'skip'
    if (!keeps || this.head === 'open') {
      this.#html.openSilent(name, 'block')
      return
    }
    this.kind = 'text'
    this.#html.openElement(name, startTag(tag, this.addresses), 'block')
  }

  #openInline(tag: Tag, keeping: Keeping): Skip | void {
    if (isHidden(tag)) return 'skip'
    this.#release()
    const embeds = keeping === 'player' || keeping === 'frame'
    if (this.#isHtml || (embeds && this.#mayBegin)) return this.#openHtml(tag, keeping)
    const { name } = tag
    if (embeds || keeping === 'formula' || !isTagName(name)) return super.open(tag)
    if (name === 'a' && this.#left.remove('a')) this.#closeInline('a', tag.id, keeping)
    if (!isVoid(name) && this.#mayBegin && !MUTE.has(startTag(tag, this.addresses))) this.#held = new HeldTag(tag)
    else return this.#openInParagraph(tag, keeping)
  }

  #openHtml(tag: Tag, keeping: Keeping): Skip | void {
    const { name } = tag
    if (!isTagName(name)) return
    if (keeping === 'frame') {
      const src = tag.attribute('src') ?? tag.attribute('data-src')
      if (src !== undefined && name === 'iframe' && !isTiny(tag))
        this.#html.inline(`${startTag(tag, this.addresses, src)}</iframe>`)
      return 'skip'
    }
    const src = name === 'img' ? imageSource(tag, tag.attribute('src'), this.picture) : undefined
    const text = startTag(tag, this.addresses, src)
    if (name === 'a') {
      this.#left.remove('a')
      this.#html.closeInline('a')
    }
    this.#left.reopen()
    if (MUTE.has(text)) this.#html.openSilent(name, 'inline')
    else if (!isVoid(name)) this.#html.openElement(name, text, 'inline')
    else if (name !== 'img' || src !== undefined) this.#html.inline(text)
    // Only elements of MathML are empty because their tag is self-closing.
    if (tag.selfClosing && this.#html.find('math') !== undefined) this.#html.closeInline(name)
  }

  /** Opens an element that is not part of a block of HTML. */
  #openInParagraph(tag: Tag, keeping: Keeping): Skip | void {
    const { line } = this
    const { name } = tag
    const text = startTag(tag, this.addresses)
    if (this.table === undefined) this.#left.add(name, text, this.kind === 'paragraph')
    if (keeping !== 'unknown' && !isLess(tag)) return super.open(tag)
    if (name === 'img') return this.#openImage(tag)
    const written = !line.inCode && !MUTE.has(text)
    if (!isVoid(name)) {
      if (this.#inline.length >= MAX_INLINE) {
        this.#tooDeep++
        return
      }
      this.#inline.push({ name, written })
    }
    if (written) line.markdown(text)
  }

  #openImage(tag: Tag): void {
    const src = imageSource(tag, tag.attribute('src'), this.picture)
    if (src !== undefined) this.line.markdown(startTag(tag, this.addresses, src))
  }

  override close(name: string, id: number, isStray = false): void {
    if (this.#readsText) {
      super.close(name, id, isStray)
      // The end of a container also ends preformatted text in it.
      if (!this.#readsText && keepingOf(name, id) === 'container') this.#html.closeBlock(name)
      return
    }
    if (isStray && name !== 'p' && name !== 'br') return
    const keeping = keepingOf(name, id)
    switch (keeping) {
      case 'as ever':
      case 'cell':
        return super.close(name, id, isStray)
      case 'block':
        this.#keep()
        if (name === 'p') this.#endParagraph()
        return super.close(name, id, isStray)
      case 'container':
      case 'definitions':
        this.#keep()
        if (this.#html.find(name)?.written === true) {
          this.endHeading()
          this.endBlock()
        }
        super.close(name, id, isStray)
        this.#html.closeBlock(name)
        return
      default:
        if (this.#held?.name === name) this.#keep()
        this.#left.remove(name)
        this.#closeInline(name, id, keeping)
    }
  }

  #closeInline(name: string, id: number, keeping: Keeping): void {
    if (this.#tooDeep > 0 && keeping === 'unknown') {
      this.#tooDeep--
      return
    }
    const { line } = this
    const at = this.#inline.findLastIndex((element) => element.name === name)
    if (at >= 0) {
      // A code span cannot contain a tag. It ends with the paragraph.
      if (line.inCode) return
      const [element] = this.#inline.splice(at, 1)
      if (element?.written === true) line.markdown(`</${name}>`)
      return
    }
    const { depth } = line
    const isHtml = this.heading === 0 && this.#html.endsInline(name)
    if (depth > 0 || !isHtml) super.close(name, id)
    if (!isHtml || line.depth !== depth) return
    if (!line.isEmpty) this.endBlock()
    this.#html.closeInline(name)
  }

  override text(text: string, traits: number): void {
    if (text === '' || this.#readsText) return super.text(text, traits)
    if (this.#held !== undefined) {
      if ((traits & (BLANK | SPACE_BEFORE)) !== 0 || /^[\t\n\f\r ]/.test(text)) this.#keep()
      else this.#release()
    }
    const isBlank = (traits & BLANK) !== 0
    if (!this.#isHtml && (!this.#mayBegin || (isBlank && this.#left.isEmpty))) return super.text(text, traits)
    if (!isBlank && this.head === 'before') this.endHead()
    this.#left.reopen()
    const html = htmlText(text)
    const contents = html.replace(/^ | $/g, '')
    if ((traits & SPACE_BEFORE) !== 0 || html.startsWith(' ')) this.#html.space()
    if (contents !== '') this.#html.inline(contents)
    if ((traits & SPACE_AFTER) !== 0 || html.endsWith(' ')) this.#html.space()
  }

  override end(): string {
    if (!this.#readsText) this.#keep()
    return super.end()
  }

  override newTable(outer: Table | undefined, state: 'held' | 'layout'): Table {
    return new KeptTable(this.#html, outer, state, this.#tag)
  }

  override endBlock(): void {
    super.endBlock()
    this.#html.breakLine()
  }

  override endCell(table: Table): void {
    // Cells for layout are independent.
    this.endHeading()
    this.endBlock()
    super.endCell(table)
  }

  protected override takeLine(): string {
    let markdown = super.takeLine()
    // A backslash at the end has no meaning, but before a tag it would.
    if (this.#inline.length > 0 && markdown.endsWith('\\')) markdown += ' '
    for (let element = this.#inline.pop(); element !== undefined; element = this.#inline.pop()) {
      if (element.written) markdown += `</${element.name}>`
    }
    this.#tooDeep = 0
    return markdown.startsWith('<') ? markdown.replace(TAG_ALONE, '$&<!-- -->') : markdown
  }

  /** Returns whether the next contents are text of a script, preformatted or the like. */
  get #readsText(): boolean {
    return (
      this.noscript !== undefined ||
      this.preformatted !== undefined ||
      this.script !== undefined ||
      this.aside !== undefined
    )
  }

  /** Returns whether the next contents are outside any paragraph, heading or table cell. */
  get #isFree(): boolean {
    const { line } = this
    return this.kind === 'text' && this.#mayContain && line.isEmpty
  }

  #endParagraph(): void {
    const { line } = this
    if (this.#left.hasLink) line.endLink()
    if (this.kind !== 'paragraph' || !line.isEmpty || !this.#mayContain || this.table !== undefined) return
    // Markdown has no paragraph without contents.
    if (!this.#html.inList) this.#html.line('<p></p>')
  }

  /** Returns whether a container can begin here. */
  get #mayContain(): boolean {
    const { table } = this
    return (
      this.heading === 0 &&
      !this.line.inLink &&
      (table === undefined || (table.state === 'layout' && this.deepTables === 0)) &&
      this.#html.mayOpen
    )
  }

  /** Returns whether the next contents continue a line of HTML. */
  get #isHtml(): boolean {
    return this.#html.endsInHtml && this.#isFree
  }

  /** Returns whether the next contents may begin a block of HTML. */
  get #mayBegin(): boolean {
    return this.table === undefined && !this.#html.inList && this.#isFree
  }

  /** Ends open elements outside of paragraphs, and writes the held tag on a separate line. */
  #keep(): void {
    this.#left.end()
    const tag = this.#held
    if (tag === undefined) return
    this.#held = undefined
    this.#html.openElement(tag.name, startTag(tag, this.addresses), 'inline')
  }

  /** Writes the held tag on the line of the next contents. */
  #release(): void {
    const tag = this.#held
    if (tag === undefined) return
    this.#held = undefined
    this.#left.reopen()
    this.#html.inline('')
    this.#html.openElement(tag.name, startTag(tag, this.addresses), 'inline')
  }
}
