import { classOf, codeAt, lastCode, lastCodePoint, lengthOf } from '../text/characters.js'
import { isLineStart } from './escape.js'
import { firstPunctuation, lastPunctuation } from './inline-format.js'

/** Some Markdown parsers read it as white space at the ends of a block. */
const NBSP = 0xa0
const EXCLAMATION = 0x21
const SPACE = 0x20
const ASTERISK = 0x2a
const CLOSING = 0x29

/**
 * Markdown of a block written so far. It is stored in pieces, because the text on both sides of a mark determines how
 * the mark is read. The next text may still change the last two pieces.
 */
export class Pieces {
  #done = ''
  protected previous = ''
  protected last = ''
  /** Whether the last piece is generated Markdown, not text. */
  protected marked = false
  /** White space that is written before the next piece. */
  protected gap: '' | ' ' | '  \n' = ''
  protected empty = true
  /**
   * Escapes that text right after closing marks needs. `word` means that the text before the marks ends in punctuation.
   */
  protected closed: '' | 'any' | 'word' = ''
  protected hasBreaks = false
  /** Whether complete Markdown with unknown lines was added. */
  protected hasForeign = false
  /** Position of the mark of the link that was written last, and of one that is not written after all; -1 without. */
  protected linkAt = -1
  protected droppedAt = -1
  /** The first character of the block, -1 before it is known. A replacement written later starts no line. */
  #first = -1
  /** The block begins with the marks of an element, which do not begin a list or a rule. */
  #startIsSafe = false

  /** Whether a line of the block ended last may be read as the start of a list, a heading or the like. */
  startsMayMean = false
  /** Whether the block ended last is known to be one line. */
  isOneLine = false
  /** The last code unit of the block ended last, or one that Markdown may end in; -1 if it is not known. */
  lastUnit = -1

  protected get writtenLength(): number {
    return lengthOf(this.#done) + lengthOf(this.previous) + lengthOf(this.last)
  }

  protected append(piece: string): void {
    if (this.#first < 0) this.#first = codeAt(piece, 0)
    this.#done += this.previous
    this.previous = this.last
    this.last = piece
  }

  /** Appends opening marks. `rest` is the text after them. */
  protected appendMarks(marks: string, rest: string): void {
    if (this.empty) this.#startIsSafe = isSafeStart(marks, rest)
    this.append(marks)
    this.marked = true
    this.empty = false
    this.closed = ''
  }

  /** Removes the last two pieces. White space before them stays, as it would without them. */
  protected dropLast(): void {
    this.previous = this.last = ''
    this.marked = false
    this.closed = ''
    this.empty = this.#done.trim() === ''
    if (this.empty) {
      this.#first = -1
      this.#startIsSafe = false
    }
    if (!this.#done.endsWith(' ')) return
    this.#done = this.#done.slice(0, -1)
    this.gap = ' '
  }

  protected writeGap(): void {
    if (!this.empty) {
      if (this.gap !== ' ') this.hasBreaks = true
      this.append(this.gap)
      this.marked = false
      this.closed = ''
    }
    this.gap = ''
  }

  /** Returns the last generated character before the next contents, including `marks`. */
  protected markBefore(marks: string): string {
    if (marks !== '') return marks.charAt(marks.length - 1)
    return this.marked ? this.last.charAt(this.last.length - 1) : ''
  }

  /**
   * Marks must not be between a word and punctuation, as in `a*"b"*`. In text without spaces between words the
   * punctuation is moved out of the emphasis. Otherwise the letter is written as a character reference.
   */
  protected separate(movable: string, piece: string): string {
    const letter = lastCodePoint(this.last)
    const moved = letter > 127 ? firstPunctuation(movable) : ''
    if (moved !== '') {
      this.append(moved)
      return piece.slice(moved.length)
    }
    this.last = this.last.slice(0, letter > 0xffff ? -2 : -1) + `&#${letter};`
    return piece
  }

  /** Prepares the text before opening marks, and `piece`, which follows them. Returns the rest of `piece`. */
  protected separateMarks(marks: string, piece: string, isMarked: boolean): string {
    const mark = marks.charAt(0)
    if (mark === '[' && !this.marked && lastCode(this.last) === EXCLAMATION) this.last = this.last.slice(0, -1) + '\\!'
    if (mark === '[' || this.empty || this.marked || classOf(lastCodePoint(this.last)) !== 'other') return piece
    if (mark === '_') this.separate('', '')
    else if (mark === '*' || mark === '~') {
      const next = marks.split('').find((char) => char !== mark)
      if (next !== undefined || isMarked || classOf(piece.codePointAt(0) ?? 0x20) === 'punctuation')
        return this.separate(next === undefined && !isMarked ? piece : '', piece)
    }
    return piece
  }

  /** Returns text that follows closing marks. */
  protected afterCloser(text: string): string {
    const next = text.codePointAt(0) ?? 0x20
    if (classOf(next) !== 'other') return text
    if (this.closed === 'word') {
      const moved = next > 127 ? lastPunctuation(this.previous) : ''
      if (moved !== '') {
        this.previous = this.previous.slice(0, -moved.length)
        this.last += moved
        return text
      }
    }
    return `&#${next};` + text.slice(next > 0xffff ? 2 : 1)
  }

  /** Ends the block and returns its Markdown. With `bracket` it begins with a bracket that is text. */
  protected end(bracket: boolean): string {
    // A concatenated string is read as rarely as possible, because the first read copies it.
    this.lastUnit = this.marked ? CLOSING : lastCode(this.last)
    let markdown = this.#done + this.previous + this.last
    if (this.droppedAt >= 0) {
      markdown = markdown.slice(0, this.droppedAt) + markdown.slice(this.droppedAt + 1)
      if (this.droppedAt === 0) this.#first = codeAt(markdown, 0)
    }
    this.linkAt = this.droppedAt = -1
    this.isOneLine = !this.hasBreaks && !this.hasForeign
    this.startsMayMean = this.hasBreaks || (isLineStart(this.#first) && !this.#startIsSafe)
    if (bracket) markdown = withoutDefinition(markdown)
    if (isInvisible(this.#first) && /^[\s\u200b-\u200d\u2060]+$/.test(markdown)) markdown = ''
    else if (this.#first === NBSP) markdown = withFirstSpace(markdown)
    if (this.lastUnit < 0 || this.lastUnit === NBSP) markdown = withLastSpace(markdown)
    this.#done = this.previous = this.last = ''
    this.empty = true
    this.marked = this.hasBreaks = this.hasForeign = false
    this.#first = -1
    this.#startIsSafe = false
    this.closed = ''
    return markdown
  }
}

/** Returns whether opening marks with asterisks cannot be read as a bullet or a rule. */
function isSafeStart(marks: string, rest: string): boolean {
  if (codeAt(marks, 0) !== ASTERISK) return false
  const next = rest === '' ? SPACE : codeAt(rest, 0)
  return lastCode(marks) !== ASTERISK || (next !== SPACE && next !== ASTERISK)
}

/**
 * Returns whether a character often begins a block without visible contents, such as zero-width spaces and no-break
 * spaces.
 */
const isInvisible = (char: number): boolean => char === NBSP || (char >= 0x200b && char <= 0x2060) || char === 0xfeff

/** Returns a block's Markdown in which a no-break space at the start is preserved. */
const withFirstSpace = (markdown: string): string =>
  codeAt(markdown, 0) === NBSP ? '&nbsp;' + markdown.slice(1) : markdown

/** Returns a block's Markdown in which a no-break space at the end is preserved. */
const withLastSpace = (markdown: string): string =>
  lastCode(markdown) === NBSP && !markdown.endsWith('\\\u00a0') ? markdown.slice(0, -1) + '&nbsp;' : markdown

/** Returns a block's Markdown whose first bracket begins no task and no link definition. CommonMark 0.31.2, 4.7. */
const withoutDefinition = (markdown: string): string =>
  /^\[(?:[ xX]\](?: |$)|[^]*\]:)/.test(markdown) ? '\\' + markdown : markdown
