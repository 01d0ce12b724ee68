import {
  classOf,
  codeAt,
  collapse,
  part,
  isSpace,
  joinLines,
  lastCode,
  lastCodePoint,
  lengthOf,
  type CharacterClass,
} from '../text/characters.js'
import { codeSpan, escapableLength, escapeInline } from './escape.js'
import {
  chooseMark,
  destinationOf,
  innermostLink,
  isAutolink,
  MAX_FORMATS,
  MAX_SPAN,
  newFormat,
  nothingOpens,
  reopen,
  sealed,
  trailingSpaces,
  type Format,
  type Kind,
  type Link,
} from './inline-format.js'
import { Pieces } from './pieces.js'
import {
  ANYTHING,
  BLANK,
  INNER_SPACE,
  NOTHING,
  OUTER_SPACE,
  SPACE_AFTER,
  SPACE_BEFORE,
  SPECIALS,
} from '../text/text-traits.js'

const BRACKET = 0x5b

/**
 * Contents of the open block, which are text, emphasis, links, code spans and images.
 *
 * Everything is written as late as possible. White space is written before the next contents, so that it is outside
 * emphasis and not at the ends of a block. Opening marks are written with the first contents, so that empty elements
 * write nothing, and at that time both neighbours of the marks are known.
 */
export class Line extends Pieces {
  /** Whether a link without contents or a name is written. */
  keepsEmptyLinks = false
  /** Characters of text since the last reset, and characters of text in links, for measuring blocks. */
  characters = 0
  linked = 0
  /** Text of the page, not yet escaped. It is escaped together, because pieces may have been cut anywhere. */
  #text = ''
  #traits = 0
  /** The block begins with a bracket that is text. */
  #bracket = false

  readonly #formats: Format[] = []
  /** Formats that ended. */
  readonly #unused: Format[] = []
  /** Number of formats that are written. */
  #written = 0
  /** Number of open formats beyond the limit. */
  #tooDeep = 0
  /** Contents of the open code span. */
  #code: string | undefined
  #codeTraits = NOTHING
  /** Contents of the last code span that was written. */
  #span = ''
  #link: Format | undefined
  /** A link that ended in this block without any contents. */
  #bareLink: Link | undefined
  #strikes = 0

  /** Adds text. `traits` are defined in text-traits.ts. */
  text(text: string, traits = ANYTHING): void {
    if (this.#code !== undefined) {
      this.#code += text
      this.#codeTraits |= traits
    } else if (this.#text !== '') {
      this.#more(text, traits)
    } else if ((traits & BLANK) === 0) {
      this.#text = text
      this.#traits = traits
    } else if (this.gap === '') this.gap = ' '
  }

  /** Adds another piece of the same text. */
  #more(text: string, traits: number): void {
    const before = this.#traits
    if ((traits & BLANK) !== 0) {
      this.#traits = before | SPACE_AFTER
      return
    }
    this.#text += ((before & SPACE_AFTER) | (traits & SPACE_BEFORE)) === 0 ? text : ' ' + text
    // Two pieces may have white space at their border.
    const met = ((before | traits) & OUTER_SPACE) === 0 ? NOTHING : INNER_SPACE
    this.#traits = (before & ~SPACE_AFTER) | (traits & ~SPACE_BEFORE) | met
    const end = escapableLength(this.#text)
    if (end > 0) this.#flushStart(end)
  }

  /** Writes the first characters of a long text. */
  #flushStart(end: number): void {
    const traits = this.#traits | OUTER_SPACE
    const rest = part(this.#text, end, lengthOf(this.#text))
    this.#text = part(this.#text, 0, end)
    this.#traits = traits & ~SPACE_AFTER
    this.#flush(rest)
    this.#text = rest
    this.#traits = traits & ~SPACE_BEFORE
  }

  /** Returns whether there is only white space so far. */
  get isEmpty(): boolean {
    if (this.#text !== '') this.#flush()
    return this.empty && (this.#code === undefined || this.#code.trim() === '')
  }

  /** Returns the approximate number of characters so far. */
  get length(): number {
    this.#flush()
    return this.writtenLength
  }

  /** Returns whether text is part of a code span. */
  get inCode(): boolean {
    return this.#code !== undefined
  }

  /** Returns whether text is part of a link. */
  get inLink(): boolean {
    return this.#link !== undefined
  }

  /** Returns whether the link has any contents yet. */
  get linkIsWritten(): boolean {
    if (this.#link === undefined) return false
    this.#flush()
    return this.#formats.indexOf(this.#link) < this.#written
  }

  /** Counts a block that begins or ends inside the link. Returns the new count. */
  countLinkBlock(): number {
    return this.#link === undefined ? 0 : ++this.#link.blocks
  }

  /** Number of blocks that began or ended inside the link. */
  get linkBlocks(): number {
    return innermostLink(this.#formats)?.blocks ?? 0
  }

  /** Returns whether the last contents are a link. */
  get isAfterLink(): boolean {
    if (this.#text !== '' || this.#code !== undefined) return false
    return this.marked && this.gap === '' && this.last.startsWith('](')
  }

  /** Adds white space, as between two words. */
  space(): void {
    if (this.#code !== undefined) return this.text(' ')
    this.#flush()
    if (this.gap === '') this.gap = ' '
  }

  /** Returns the Markdown of a link without contents if the block contains nothing else, otherwise ''. */
  get loneLink(): string {
    const link = this.#bareLink
    return link === undefined || !this.isEmpty ? '' : `[${destinationOf(link)}`
  }

  /** Returns whether the last contents are a line break. */
  get isBroken(): boolean {
    this.#flush()
    return this.gap === '  \n'
  }

  lineBreak(): void {
    if (this.#code !== undefined) return this.text(' ')
    this.#flush()
    this.gap = '  \n'
  }

  /** Adds complete Markdown, such as an image or a code span. */
  markdown(markdown: string): void {
    if (this.#code !== undefined) return
    this.#flush()
    this.#put(markdown, true)
    this.hasForeign = true
  }

  /** Whether the innermost element is a superscript without contents so far. */
  get isSuperscript(): boolean {
    const last = this.#formats.at(-1)
    return last?.name === 'sup' && this.#formats.length > this.#written
  }

  /** Adds the mark of a footnote, without a space before it. */
  mark(markdown: string): void {
    if (this.#code !== undefined) return
    this.#flush()
    if (this.gap === ' ') this.gap = ''
    if (this.empty) this.#bracket = true
    this.#put(markdown, true)
  }

  open(kind: Exclude<Kind, 'link' | 'code'>, name: string, mark = ''): void {
    this.#push(kind, name, mark, undefined)
  }

  openCode(name: string): void {
    this.#flush()
    if (this.#push(this.#code === undefined ? 'code' : 'plain', name, '', undefined)?.kind === 'code') this.#code = ''
  }

  openLink(name: string, link: Link): void {
    if (this.#link !== undefined) this.close(name)
    if (this.#code === undefined) {
      this.#link = this.#push('link', name, '', link)
      return
    }
    // A code span cannot contain links, so the link goes around this part of the span.
    const at = this.#formats.findIndex((format) => format.kind === 'code')
    this.#endCode()
    this.#link = newFormat('link', name, '', link)
    this.#formats.splice(at, 0, this.#link)
    this.#written = Math.min(this.#written, at)
  }

  /** Ends the innermost element of that name. Elements opened inside it continue after it, as in a browser. */
  close(name: string): void {
    let at = this.#formats.length - 1
    while (at >= 0 && (this.#formats[at] as Format).name !== name) at--
    if (at < 0) {
      if (this.#tooDeep > 0) this.#tooDeep--
      return
    }
    this.#flush()
    const format = this.#formats[at] as Format
    if (format === this.#link && at >= this.#written && at === this.#formats.length - 1) this.#nameLink(format)
    for (let index = this.#formats.length - 1; index >= at; index--) this.#writeCloser(index)
    if (at === this.#formats.length - 1) this.#formats.pop()
    else this.#formats.splice(at, 1)
    this.#written = Math.min(this.#written, at)
    if (format.kind === 'code') this.#code = undefined
    if (format.kind === 'strike') this.#strikes--
    if (format === this.#link) this.#link = undefined
    this.#unused.push(format)
  }

  /** Number of open elements. Those beyond it can be ended with `closeDownTo`. */
  get depth(): number {
    return this.#formats.length
  }

  closeDownTo(depth: number): void {
    while (this.#formats.length > depth) this.close((this.#formats.at(-1) as Format).name)
    this.#tooDeep = 0
  }

  /** Ends the block and returns its Markdown, or ''. Open elements continue in the next block, except links. */
  take(): string {
    if (this.#text !== '') this.#flush()
    this.#bareLink = undefined
    if (this.empty && this.#written === 0 && this.#code === undefined) {
      this.gap = ''
      return ''
    }
    const link = this.#link
    if (this.#code !== undefined) this.#endCode()
    if (link !== undefined && this.#formats.indexOf(link) < this.#written) this.#link = undefined
    for (let index = this.#formats.length - 1; index >= 0; index--) this.#writeCloser(index)
    this.#written = 0
    this.gap = ''
    if (this.empty) return ''
    const markdown = this.end(this.#bracket)
    this.#bracket = false
    return markdown
  }

  /** Converts the contents of the open link in this block to text. The link continues in the next block. */
  leaveLink(): void {
    if (this.linkIsWritten) this.droppedAt = this.linkAt
  }

  /** Reopens the link that was ended with its block, once. */
  relink(): void {
    // The innermost link is the only one, because links do not nest.
    const link = innermostLink(this.#formats)
    if (link !== undefined) this.#link = link
  }

  /** Ends the open link, even if it has no contents. */
  endLink(): void {
    this.#flush()
    const link = this.#link
    if (link !== undefined && this.#formats.indexOf(link) >= this.#written) this.#nameLink(link)
    this.#link = undefined
  }

  /** Removes the open link if it has no contents, and returns it. */
  takeEmptyLink(): Link | undefined {
    this.#flush()
    const link = this.#link
    if (link === undefined || this.#formats.length === this.#written || this.#formats.at(-1) !== link) return undefined
    this.#formats.pop()
    this.#link = undefined
    return link.link
  }

  /** Ends the link permanently. Contents after it, up to its end tag, are not part of the link. */
  unlink(): void {
    this.#link = undefined
  }

  #push(kind: Kind, name: string, mark: string, link: Link | undefined): Format | undefined {
    this.#flush()
    if (this.#formats.length >= MAX_FORMATS) {
      this.#tooDeep++
      return undefined
    }
    const unused = this.#unused.pop()
    const written = this.#code === undefined ? kind : 'plain'
    const format =
      unused === undefined ? newFormat(written, name, mark, link) : reopen(unused, written, name, mark, link)
    this.#formats.push(format)
    if (kind === 'strike') this.#strikes++
    return format
  }

  /** Writes the text. `ahead` is the text after it, which is written later. */
  #flush(ahead = ''): void {
    const raw = this.#text
    if (raw === '') return
    const traits = this.#traits
    this.#text = ''
    let text = raw
    let spaceAfter = (traits & SPACE_AFTER) !== 0
    if ((traits & SPACE_BEFORE) !== 0 && this.gap === '') this.gap = ' '
    if ((traits & OUTER_SPACE) !== 0) {
      let start = 0
      let end = lengthOf(raw)
      while (start < end && isSpace(codeAt(raw, start))) start++
      if (start > 0 && this.gap === '') this.gap = ' '
      if (start === end) return
      while (isSpace(codeAt(raw, end - 1))) end--
      if (end < lengthOf(raw)) spaceAfter = true
      text = part(raw, start, end)
    }
    if ((traits & INNER_SPACE) !== 0) text = collapse(text)
    const plain = text
    if ((traits & SPECIALS) !== 0) {
      if (this.empty && codeAt(text, 0) === BRACKET) this.#bracket = true
      const context = {
        before: this.#before(),
        // The mark that closes an element comes before the space.
        spaceAfter: spaceAfter && this.#formats.length === 0,
        inLink: this.#link !== undefined,
        inStrike: this.#strikes > 0,
      }
      text = escapeInline(ahead === '' ? text : text + (spaceAfter ? ' ' : '') + ahead, context, lengthOf(text))
    }
    this.#put(text, false)
    this.#count(lengthOf(plain))
    if (this.#link !== undefined) this.#link.only = this.#link.pieces === 1 ? plain : undefined
    if (spaceAfter) this.gap = ' '
  }

  #count(characters: number): void {
    this.characters += characters
    if (this.#link !== undefined) this.linked += characters
  }

  /** Returns the class of the character or mark before the next piece of text. */
  #before(): CharacterClass | 'mark' {
    if (this.#written < this.#formats.length) return 'mark'
    if (this.gap !== '' || this.empty) return 'space'
    return this.marked ? 'mark' : classOf(lastCodePoint(this.last))
  }

  #put(markdown: string, marked: boolean): void {
    let piece = markdown
    // A parenthesis after the mark of a footnote would make a link of both.
    if (this.marked && !marked && this.gap === '' && this.last.startsWith('[^') && /^[([]/.test(piece))
      piece = '\\' + piece
    if (!marked && this.#written < this.#formats.length && codeAt(piece, 0) > 0x7f) {
      // Other spaces than HTML white space are text, but next to them no mark opens anything.
      const rest = piece.replace(/^\p{Zs}+/u, '')
      if (rest !== piece) {
        if (this.gap !== ' ') this.hasBreaks = true
        this.append((this.empty ? '' : this.gap) + piece.slice(0, piece.length - rest.length))
        this.gap = this.closed = ''
        this.marked = this.empty = false
        if (rest === '') return
        piece = /^[*_~]/.test(rest) ? '\\' + rest : rest
      }
    }
    if (this.gap !== '') {
      if (!this.empty) this.#count(1)
      this.writeGap()
    }
    if (this.#written < this.#formats.length) piece = this.#writeOpeners(piece, marked)
    if (this.closed !== '') {
      if (!marked) piece = this.afterCloser(piece)
      this.closed = ''
    }
    if (this.#link !== undefined) {
      this.#link.pieces++
      this.#link.only = undefined
    }
    if (piece === '') return
    this.append(piece)
    this.marked = marked
    this.empty = false
  }

  /** Writes the marks of open elements before their first contents, `piece`. Returns the rest of `piece`. */
  #writeOpeners(piece: string, marked: boolean): string {
    let marks = ''
    for (; this.#written < this.#formats.length; this.#written++) {
      const format = this.#formats[this.#written] as Format
      if (format.kind === 'link') format.mark = format === this.#link ? '[' : ''
      else if (format.kind !== 'plain') chooseMark(this.#formats, this.#written, marks, this.markBefore(marks))
      if (format === this.#link) this.linkAt = this.writtenLength + marks.length
      marks += format.kind === 'markup' && format.mark !== '' ? `<${format.mark}>` : format.mark
    }
    if (marks === '') return piece
    const rest = this.separateMarks(marks, piece, marked)
    this.appendMarks(marks, rest)
    return rest
  }

  #writeCloser(index: number): void {
    const format = this.#formats[index] as Format
    if (format.kind === 'code') this.#endCode()
    if (index >= this.#written) return
    this.#written = index
    if (format.kind === 'plain' || format.kind === 'code' || format.mark === '') return
    if (format.kind === 'link') return this.#closeLink(format)
    const delimits = format.kind !== 'markup'
    const spaces = this.marked ? '' : trailingSpaces(this.last)
    if (spaces !== '') this.last = sealed(this.last.slice(0, -spaces.length))
    const punctuation = this.marked || classOf(lastCodePoint(this.last)) === 'punctuation'
    this.append(delimits ? format.mark : `</${format.mark}>`)
    this.marked = true
    if (spaces !== '') {
      this.append(spaces)
      this.marked = false
      this.closed = ''
      return
    }
    this.closed = !delimits ? '' : format.mark.startsWith('_') ? 'any' : punctuation ? 'word' : ''
  }

  /** Names a link without contents by the name that its page has for screen readers. */
  #nameLink(format: Format): void {
    const link = format.link as Link
    const { name } = link
    const text = name === undefined || this.#code !== undefined ? '' : collapse(name).trim()
    if (text === '') {
      if (this.keepsEmptyLinks && !link.url.startsWith('#') && this.#code === undefined) {
        this.#link = undefined
        this.#put(`[${destinationOf(link)}`, true)
        return
      }
      // A link to its own page is a mark for the mouse or a mistake.
      if (this.empty && link.url !== '' && !link.url.startsWith('#')) this.#bareLink = link
      return
    }
    this.#count(lengthOf(text))
    this.#put(
      escapeInline(text, { before: 'mark', spaceAfter: false, inLink: true, inStrike: this.#strikes > 0 }),
      false,
    )
  }

  #closeLink(format: Format): void {
    const link = format.link as Link
    const text = format.only
    if (this.droppedAt >= 0) return
    if (text !== undefined && this.previous === '[' && link.noise?.test(text) === true) {
      this.dropLast()
      this.characters -= lengthOf(text)
      this.linked -= lengthOf(text)
      return
    }
    if (
      text !== undefined &&
      link.title === undefined &&
      !this.marked &&
      isAutolink(link.url, text) &&
      lastCode(this.previous) === BRACKET
    ) {
      this.previous = this.previous.slice(0, -1)
      this.last = `<${text}>`
    } else this.append(destinationOf(link))
    this.marked = true
    this.closed = ''
  }

  #endCode(): void {
    let code = this.#code as string
    const traits = this.#codeTraits
    this.#code = ''
    this.#codeTraits = NOTHING
    if (code === '') return
    this.#count(lengthOf(code))
    if ((traits & (OUTER_SPACE | INNER_SPACE)) !== 0 && /[\r\n]/.test(code)) code = joinLines(code.trim())
    const isPlain = (traits & (OUTER_SPACE | INNER_SPACE | SPECIALS)) === 0
    if (this.marked && this.gap === '' && this.last.startsWith('`') && nothingOpens(this.#formats, this.#written)) {
      // Two adjacent spans would be read as one that contains backticks. A long row of spans is not joined.
      if (this.#span.length > MAX_SPAN) {
        this.gap = ' '
        this.#span = code
        this.#put(codeSpan(code), true)
        return
      }
      this.#span += code
      this.last = codeSpan(this.#span)
      return
    }
    this.#span = code
    if (code !== '') this.#put(isPlain ? '`' + code + '`' : codeSpan(code), true)
  }
}
